// ProtectionTests: when the memory of a tool can be read by other programs of its user.

import TestPrograms
import Testing

@Suite struct `The memory of a process` {
    @Test func `it can be read until the tool begins, while it connects, and never with a secret`()
        throws
    {
        #expect(
            try peer("keep").lines() == [
                "began true", "applied false", "connecting true", "connected false",
                "holding false", "connecting again false",
            ])
    }
}
