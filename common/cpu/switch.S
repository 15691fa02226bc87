# switch.S - context switches: the only CPU-specific code of the back end.
#
#   uint64_t wbcpu_barrier(void);
#   uint64_t wbcpu_collective(int op, unsigned mask, uint64_t value, uint64_t arg);
#       save the callee-saved registers on the thread's stack, ask the scheduler for the
#       next thread ({stack, value} in the two result registers), switch to its stack and
#       return value there.
#   uint64_t wbcpu_switch(void **save, void *load, uint64_t value);
#       the same without the scheduler: saves the stack pointer in *save, continues on
#       load.
#   wbcpu_fiber_start
#       first instruction of a fiber; calls wbcpu_fiber_main, which never returns.
#
# All three end with an indirect jump. The CPU would predict a ret from the return stack
# of the thread that waits, and the misprediction would cost more than the whole switch.

#if defined(__APPLE__)
#error "the CPU back end's context switch supports only ELF systems (Linux)"
#endif

#if defined(__x86_64__)
# Saved stack, from the saved pointer up: r15 r14 r13 r12 rbx rbp, return address.
	.macro push_reg reg
	pushq \reg
	.cfi_adjust_cfa_offset 8
	.endm
	.macro save_registers
	push_reg %rbp
	push_reg %rbx
	push_reg %r12
	push_reg %r13
	push_reg %r14
	push_reg %r15
	.endm
	.macro continue_there
	popq %r15
	popq %r14
	popq %r13
	popq %r12
	popq %rbx
	popq %rbp
	popq %rcx
	jmp *%rcx
	.endm

	.text
	.globl wbcpu_barrier
	.type wbcpu_barrier, @function
	.p2align 4
wbcpu_barrier:
	.cfi_startproc
	save_registers
	movq %rsp, %rdi
	subq $8, %rsp		# rsp must be a multiple of 16 at a call
	.cfi_adjust_cfa_offset 8
	call wbcpu_at_barrier
	movq %rax, %rsp
	movq %rdx, %rax
	continue_there
	.cfi_endproc
	.size wbcpu_barrier, .-wbcpu_barrier

	.globl wbcpu_collective
	.type wbcpu_collective, @function
	.p2align 4
wbcpu_collective:
	.cfi_startproc
	save_registers
	movq %rsp, %r8		# fifth argument: this thread's stack pointer
	subq $8, %rsp
	.cfi_adjust_cfa_offset 8
	call wbcpu_at_collective
	movq %rax, %rsp
	movq %rdx, %rax
	continue_there
	.cfi_endproc
	.size wbcpu_collective, .-wbcpu_collective

	.globl wbcpu_switch
	.type wbcpu_switch, @function
	.p2align 4
wbcpu_switch:
	.cfi_startproc
	save_registers
	movq %rsp, (%rdi)
	movq %rsi, %rsp
	movq %rdx, %rax
	continue_there
	.cfi_endproc
	.size wbcpu_switch, .-wbcpu_switch

	.globl wbcpu_fiber_start
	.type wbcpu_fiber_start, @function
wbcpu_fiber_start:
	.cfi_startproc
	.cfi_undefined rip	# backtraces end here
	xorl %ebp, %ebp
	call wbcpu_fiber_main
	ud2
	.cfi_endproc
	.size wbcpu_fiber_start, .-wbcpu_fiber_start

#elif defined(__aarch64__)
# Saved stack, from the saved pointer up: x19..x30 (x30 is the return address), d8..d15.
	.macro save_registers
	sub sp, sp, #160
	.cfi_adjust_cfa_offset 160
	stp x19, x20, [sp, #0]
	stp x21, x22, [sp, #16]
	stp x23, x24, [sp, #32]
	stp x25, x26, [sp, #48]
	stp x27, x28, [sp, #64]
	stp x29, x30, [sp, #80]
	.cfi_rel_offset x29, 80
	.cfi_rel_offset x30, 88
	stp d8, d9, [sp, #96]
	stp d10, d11, [sp, #112]
	stp d12, d13, [sp, #128]
	stp d14, d15, [sp, #144]
	.endm
	.macro continue_there
	ldp x19, x20, [sp, #0]
	ldp x21, x22, [sp, #16]
	ldp x23, x24, [sp, #32]
	ldp x25, x26, [sp, #48]
	ldp x27, x28, [sp, #64]
	ldp x29, x30, [sp, #80]
	ldp d8, d9, [sp, #96]
	ldp d10, d11, [sp, #112]
	ldp d12, d13, [sp, #128]
	ldp d14, d15, [sp, #144]
	add sp, sp, #160
	br x30
	.endm

	.text
	.globl wbcpu_barrier
	.type wbcpu_barrier, %function
	.p2align 4
wbcpu_barrier:
	.cfi_startproc
	save_registers
	mov x0, sp
	bl wbcpu_at_barrier
	mov sp, x0
	mov x0, x1
	continue_there
	.cfi_endproc
	.size wbcpu_barrier, .-wbcpu_barrier

	.globl wbcpu_collective
	.type wbcpu_collective, %function
	.p2align 4
wbcpu_collective:
	.cfi_startproc
	save_registers
	mov x4, sp
	bl wbcpu_at_collective
	mov sp, x0
	mov x0, x1
	continue_there
	.cfi_endproc
	.size wbcpu_collective, .-wbcpu_collective

	.globl wbcpu_switch
	.type wbcpu_switch, %function
	.p2align 4
wbcpu_switch:
	.cfi_startproc
	save_registers
	mov x9, sp
	str x9, [x0]
	mov sp, x1
	mov x0, x2
	continue_there
	.cfi_endproc
	.size wbcpu_switch, .-wbcpu_switch

	.globl wbcpu_fiber_start
	.type wbcpu_fiber_start, %function
wbcpu_fiber_start:
	.cfi_startproc
	.cfi_undefined x30
	mov x29, #0
	bl wbcpu_fiber_main
	brk #0
	.cfi_endproc
	.size wbcpu_fiber_start, .-wbcpu_fiber_start

#else
#error "no context switch for this CPU: add one (about 40 instructions) to switch.S"
#endif

	.section .note.GNU-stack, "", %progbits
