// TrustConcurrencyTests: evaluations by many concurrent callers, and by callers that must not
// block.

#if !canImport(Darwin)

import Foundation
import Synchronization
import Testing

@testable import KeychainServices

@Suite struct TrustConcurrencyTests {
    let made: TrustFixtures

    init() throws {
        made = try TrustFixtures.shared.get()
    }

    /// There are more callers than threads in Swift's concurrency pool, and each caller blocks a
    /// thread. If an evaluation waited for a thread of the pool, all callers would wait forever.
    @Test func `evaluations complete even if tasks block every thread of the pool`() async {
        let chain = [made.server, made.intermediate]
        let anchors = [made.root]
        let count = ProcessInfo.processInfo.activeProcessorCount * 8 + 8
        let trusted = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<count {
                group.addTask { judge(chain, anchors: anchors) == nil }
            }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(trusted == count)
    }

    @TaskLocal private static var mark = 0

    @Test @MainActor func `an evaluation keeps the caller's task-local values and actor`() async {
        await Self.$mark.withValue(7) {
            #expect(judge([made.server, made.intermediate], anchors: [made.root]) == nil)
            #expect(Self.mark == 7)
            MainActor.assertIsolated()
            await Task.yield()
            #expect(Self.mark == 7)
            MainActor.assertIsolated()
        }
    }

    private actor Judge {
        func judges(_ chain: [SecCertificate], _ anchors: [SecCertificate]) async -> Bool {
            let isTrusted = judge(chain, anchors: anchors) == nil
            assertIsolated()
            await Task.yield()
            assertIsolated()
            return isTrusted
        }
    }

    @Test func `an evaluation inside an actor keeps the actor's isolation`() async {
        #expect(await Judge().judges([made.server, made.intermediate], [made.root]))
    }

    @Test func `runOnCallingThread runs asynchronous code to its end on the calling thread`() {
        let thread = ObjectIdentifier(Thread.current)
        let answer = runOnCallingThread { () async -> Bool in
            for _ in 0..<10 {
                await Task.yield()
                await Self.nothing()
            }
            return Self.isOn(thread)
        }
        #expect(answer)
    }

    private static func nothing() async {}

    private static func isOn(_ thread: ObjectIdentifier) -> Bool {
        ObjectIdentifier(Thread.current) == thread
    }

    @Test func `an asynchronous evaluation delivers its result once, on the given queue`()
        async throws
    {
        var slot: SecTrust?
        #expect(
            unsafe SecTrustCreateWithCertificates(
                [made.server, made.intermediate] as CFArray, nil, &slot) == errSecSuccess)
        let trust = try #require(slot)
        #expect(SecTrustSetAnchorCertificates(trust, [made.root] as CFArray) == errSecSuccess)
        let first = await Self.evaluate(trust)
        #expect(first.isTrusted && first.code == nil && first.isOnQueue)
        #expect(SecTrustSetAnchorCertificates(trust, [] as CFArray) == errSecSuccess)
        let second = await Self.evaluate(trust)
        #expect(!second.isTrusted && second.code == Int(errSecNotTrusted) && second.isOnQueue)
    }

    private struct Told: Sendable {
        let isTrusted: Bool
        let code: Int?
        let isOnQueue: Bool
    }

    private static func evaluate(_ trust: SecTrust) async -> Told {
        let key = DispatchSpecificKey<Bool>()
        let queue = DispatchQueue(label: "trust")
        queue.setSpecific(key: key, value: true)
        return await withCheckedContinuation { continuation in
            let status = SecTrustEvaluateAsyncWithError(trust, queue) { told, isTrusted, error in
                #expect(told === trust)
                continuation.resume(
                    returning: Told(
                        isTrusted: isTrusted, code: error?.code,
                        isOnQueue: DispatchQueue.getSpecific(key: key) == true))
            }
            #expect(status == errSecSuccess)
        }
    }

    @Test func `one trust object can be evaluated by many threads`() async throws {
        var slot: SecTrust?
        #expect(
            unsafe SecTrustCreateWithCertificates(
                [made.server, made.intermediate] as CFArray, nil, &slot) == errSecSuccess)
        let trust = try #require(slot)
        let anchors = made.root
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<32 {
                group.addTask {
                    if index % 4 == 0 {
                        _ = SecTrustSetAnchorCertificates(
                            trust, (index % 8 == 0 ? [anchors] : []) as CFArray)
                    }
                    _ = isTrusted(trust)
                    #expect(SecTrustGetCertificateCount(trust) >= 2)
                }
            }
        }
        #expect(SecTrustSetAnchorCertificates(trust, [anchors] as CFArray) == errSecSuccess)
        #expect(isTrusted(trust))
    }
}

#endif
