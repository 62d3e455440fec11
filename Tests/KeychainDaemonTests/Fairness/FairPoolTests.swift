// FairPoolTests: how parties (users, programs or parts of the service) share the service's threads.

import Dispatch
import Synchronization
import Testing

@testable import KeychainDaemon

@Suite struct `Shared threads` {
    @Test func `a caller's many requests delay only that caller`() throws {
        let pool = FairPool(threadCount: 1)
        let done = Mutex<[String]>([])
        let gate = DispatchSemaphore(value: 0)
        let end = DispatchSemaphore(value: 0)
        pool.submit(for: .user(1)) { _ in gate.wait() }
        for number in 0..<1000 {
            pool.submit(for: .user(1)) { _ in done.withLock { $0.append("much \(number)") } }
        }
        pool.submit(for: .user(2)) { _ in done.withLock { $0.append("little") } }
        pool.submit(for: .user(1)) { _ in end.signal() }
        gate.signal()
        end.wait()
        pool.stop()
        let order = done.withLock { $0 }
        #expect(order.count == 1001)
        #expect(order.prefix(3).contains("little"))
        #expect(order.filter { $0 != "little" } == (0..<1000).map { "much \($0)" })
    }

    @Test
    func `a caller never uses more threads than its limit, and all its requests are completed`() {
        let pool = FairPool(threadCount: 4, perParty: 2)
        let gate = DispatchSemaphore(value: 0)
        let end = DispatchSemaphore(value: 0)
        let state = Mutex((hanging: 0, most: 0))
        for _ in 0..<10 {
            pool.submit(for: .user(1)) { _ in
                state.withLock {
                    $0.hanging += 1
                    $0.most = max($0.most, $0.hanging)
                }
                gate.wait()
                state.withLock { $0.hanging -= 1 }
                end.signal()
            }
        }
        // These requests of other parties are completed while the first party's requests still
        // block their threads.
        for number in 0..<100 {
            pool.submit(for: number % 2 == 0 ? .user(2) : .user(3)) { _ in end.signal() }
        }
        for _ in 0..<100 { end.wait() }
        for _ in 0..<10 { gate.signal() }
        for _ in 0..<10 { end.wait() }
        pool.stop()
        #expect(state.withLock { $0 } == (0, 2))
    }
}
