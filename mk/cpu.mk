# cpu.mk - the CPU back end: its library, its suite under sanitizers and valgrind, its speed.
ifeq ($(BACKEND),cpu)
CPU_LIB_SRC := $(wildcard common/cpu/*.cpp) common/cpu/switch.S
CPU_LIB_OBJ := $(addprefix $(B)/,$(addsuffix .o,$(basename $(CPU_LIB_SRC))))

$(B)/libwbcpu.a: $(CPU_LIB_OBJ)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

$(B)/common/cpu/%.o: common/cpu/%.cpp | setup
	@mkdir -p $(@D)
	$(Q)$(CXX) $(CPU_FLAGS) -Wall -Wextra -MMD -MP -MF $(@:.o=.d) -MT $@ -c $< -o $@

$(B)/common/cpu/%.o: common/cpu/%.S | setup
	@mkdir -p $(@D)
	$(Q)$(CC) -c $< -o $@
endif
