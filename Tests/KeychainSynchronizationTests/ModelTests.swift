// ModelTests: the rules of synchronization, with all sequences of a few events of `World`. Three
// new machines go through up to six events other than restarts. Once an item has reached all
// three machines, they go through up to five events other than restarts, or through up to four
// events of `World.Event.withRestarts`.

import KeychainCore
import KeychainSynchronization
import Testing

@Suite struct ModelTests {
    /// Goes through all sequences of events up to a length, and checks the state after each
    /// sequence. Ends at the first state with a fault. A state that was already reached with the
    /// same number of events is not checked again.
    private struct Search {
        var seen: [Set<World>]
        var outcomes = 0
        var fault: (what: String, events: [World.Event])?
        private let possible: [World.Event]

        init(_ possible: [World.Event], depth: Int) {
            self.possible = possible
            seen = Array(repeating: [], count: depth + 1)
        }

        mutating func visit(_ world: World, _ events: [World.Event], depth: Int) {
            guard fault == nil, seen[events.count].insert(world).inserted else { return }
            outcomes += 1
            if let what = world.fault(restarts: possible.contains(.restart2)) {
                fault = (what, events)
                return
            }
            guard events.count < depth else { return }
            for event in possible {
                var next = world
                guard next.carryOut(event, tick: events.count) else { continue }
                visit(next, events + [event], depth: depth)
            }
        }
    }

    @Test func `no sequence of six events on three machines breaks a synchronization rule`() {
        search([], depth: 6, outcomes: 90_000)
    }

    /// The four events of `start` bring an item of one machine to all three machines. Up to five
    /// events follow.
    @Test(arguments: [
        [World.Event.write1, .exchange1, .exchange2, .exchange3],
        [.write2, .exchange2, .exchange1, .exchange3],
        [.write3, .exchange3, .exchange1, .exchange2],
    ])
    func `after an item has reached all machines, no five events break a synchronization rule`(
        _ start: [World.Event]
    ) {
        search(start, depth: 5, outcomes: 90_000)
    }

    @Test(arguments: [
        [World.Event.write1, .exchange1, .exchange2, .exchange3],
        [.write3, .exchange3, .exchange1, .exchange2],
    ])
    func `after an item has reached all machines, no four events, including restarts, break a rule`(
        _ start: [World.Event]
    ) {
        search(start, depth: 4, outcomes: 8_000, World.Event.withRestarts)
    }

    /// The test fails unless the search checks more than `outcomes` states.
    private func search(
        _ start: [World.Event], depth: Int, outcomes: Int,
        _ possible: [World.Event] = World.Event.withoutRestarts
    ) {
        var world = World()
        for (tick, event) in start.enumerated() {
            let happens = world.carryOut(event, tick: tick)
            #expect(happens)
        }
        var search = Search(possible, depth: start.count + depth)
        search.visit(world, start, depth: start.count + depth)
        if let fault = search.fault {
            Issue.record("\(fault.what): \(fault.events)")
        }
        #expect(search.outcomes > outcomes)
    }
}
