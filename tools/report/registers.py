"""registers.py - what `ptxas -v` says of a kernel: registers, spills, and the occupancy
that follows from them."""
import re

from .values import number, plain, rows

# Of one SM, from the CUDA programming guide: threads, blocks, KB of shared memory. Each
# has 65536 registers, and a warp takes a multiple of 256. From 8.0 on a block takes 1 KB
# of shared memory more.
SM_LIMITS = {
    75: (1024, 16, 64), 80: (2048, 32, 164), 86: (1536, 16, 100), 89: (1536, 24, 100),
    90: (2048, 32, 228), 100: (2048, 32, 228), 120: (1536, 24, 100)
}


class Compiled:
    """One instance of a kernel, compiled for one architecture."""
    def __init__(self, entry):
        self.name = plain(entry.get("name"))
        self.registers, self.shared = number(entry.get("registers")), number(
            entry.get("shared"))
        self.spilled = number(entry.get("spill_stores")) + number(
            entry.get("spill_loads"))
        self.sm = int(number(entry.get("sm")))

    def occupancy(self, kernel):
        """(share of an SM's threads that can be resident, what limits it), or None."""
        known = self.sm in SM_LIMITS and self.registers
        if not known or not 1 <= kernel.threads <= 1024:
            return None
        threads, blocks, shared_kb = SM_LIMITS[self.sm]
        warps = -(-kernel.threads // 32)
        warp_registers = -(-self.registers * 32 // 256) * 256
        shared = kernel.shared_bytes + self.shared + (1024 if self.sm >= 80 else 0)
        fits = {
            "threads": threads // (warps * 32), "blocks": blocks,
            "registers": 65536 // warp_registers // warps,
            "shared memory": shared_kb * 1024 // shared if shared else blocks
        }
        limit = min(fits, key=fits.get)
        return fits[limit] * warps * 32 / threads, limit

    def described(self, kernel):
        parts = [
            f"{int(self.registers)} registers per thread",
            f"{int(self.spilled)} bytes of spills" if self.spilled else "no spills"
        ]
        resident = self.occupancy(kernel)
        if resident:
            parts.append(f"occupancy at most {resident[0]:.0%}, limited by {resident[1]}")
        return f"{', '.join(parts)} (ptxas, sm_{self.sm})"


def base_name(kernel):
    return kernel.partition("<")[0].split("::")[-1].split(" ")[-1]


def spelled(name):
    """One spelling of a name: no spaces, and `128` for `(int)128`."""
    return re.sub(r"\(\w+\)(?=\d)|\s", "", name)


def entries_of(data):
    """A function: kernel name -> what ptxas says of exactly this instance, or else of all
    instances with its name."""
    known = [Compiled(e) for e in rows(data)]

    def of(kernel):
        exact = [c for c in known if spelled(c.name) == spelled(kernel)]
        return exact or [c for c in known if base_name(c.name) == base_name(kernel)]

    return of
