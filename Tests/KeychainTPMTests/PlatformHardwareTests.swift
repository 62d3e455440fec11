// What a process is told about the hardware of its machine.

import KeychainTPM
import Testing

#if !TPM

@Suite struct `Platform hardware, built without the trait` {
    @Test func `there is none, and it is said why`() {
        #expect(PlatformHardware.current == nil)
        #expect(PlatformHardware.reason.contains("trait TPM"))
    }
}

#endif
