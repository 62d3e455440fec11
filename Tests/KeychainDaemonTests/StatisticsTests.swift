// StatisticsTests: what a service counts, and who may read the counts.

import Foundation
import KeychainCore
import KeychainRuntime
import Testing

@testable import KeychainDaemon

@Suite struct StatisticsTests {
    @Test func `requests are counted by operation, outcome and time, without names or values`()
        throws
    {
        let service = try TestService()
        let client = service.client()
        let own = AccessGroups(["default"])
        _ = try client.perform(AddItem(password("an account", "a secret")), as: own)
        for _ in 0..<3 { #expect(try client.load("an account", as: own) == "a secret") }
        #expect(try client.load("another", as: own) == nil)
        let statistics = try client.perform(ReadStatistics())
        #expect(statistics.operations.map(\.name) == ["hello", "add", "find"])
        #expect(statistics.operations.map(\.count) == [1, 1, 4])
        #expect(statistics.operations.map(\.failureCount) == [0, 0, 1])
        #expect(statistics.connectionCount == 1)
        #expect(statistics.refusalCount == 0)
        for operation in statistics.operations {
            #expect(operation.counts.reduce(0, +) == operation.count)
            #expect(operation.counts.count == ServiceStatistics.limits.count + 1)
            #expect(operation.longestMicroseconds > 0)
        }
        for word in ["account", "secret", "service", "default", "another"] {
            #expect(!"\(statistics)".contains(word), "\(word)")
        }
        // Reading the statistics is counted too.
        #expect(try client.perform(ReadStatistics()).operations.last?.name == "statistics")
    }

    @Test
    func `in the machine's service only a caller with access to all groups may read statistics`()
        throws
    {
        for (groups, isTold) in [(["default"], false), (["*", "default"], true)] {
            let folder = try TemporaryFolder()
            try TestService.entitle(.user(geteuid()), groups, in: folder)
            let service = try TestService(folder: folder) { $0.kind = .system }
            let told = status { _ = try service.client().perform(ReadStatistics()) }
            #expect(told == (isTold ? Status(rawValue: 0) : .missingEntitlement))
        }
    }

    @Test func `a program without rights is counted as refused`() throws {
        let folder = try TemporaryFolder()
        let service = try TestService(folder: folder) { $0.isRegistryOnly = true }
        #expect(status { _ = try service.client().perform(HasPasscode()) } == .missingEntitlement)
        try TestService.entitle("default", in: folder)
        #expect(try service.client().perform(ReadStatistics()).refusalCount == 1)
    }

    @Test func `a duration is counted under the first limit that exceeds it`() {
        var statistics = ServiceStatistics()
        for microseconds in [0, 63, 64, 255, 256, 4_194_303, 4_194_304, .max] {
            statistics.note("find", failed: false, microseconds: microseconds)
        }
        #expect(statistics.operations[0].counts == [2, 2, 1, 0, 0, 0, 0, 0, 1, 2])
        #expect(statistics.operations[0].longestMicroseconds == .max)
    }
}
