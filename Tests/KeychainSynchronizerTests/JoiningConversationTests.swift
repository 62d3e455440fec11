// JoiningConversationTests: machines that find a circle on a server, and join it through the
// server's records: by digits, by pasted codes and by tokens.

import Foundation
import KeychainCore
import KeychainCrypto
import KeychainRelay
import KeychainSynchronization
import SynchronizationTestSupport
import Testing

@Suite struct `Joining through the server` {
    private let server = MemoryStore()

    /// A timing with enough polls for an exchange between two tasks, and without pauses.
    private static let patient = looking(100_000)

    /// A timing that gives up after a number of polls.
    private static func looking(_ count: Int) -> JoiningTiming {
        var timing = JoiningTiming()
        timing.interval = .milliseconds(1)
        timing.limit = .milliseconds(count)
        timing.stepLimit = .milliseconds(count)
        timing.pause = { _ in await Task.yield() }
        return timing
    }

    // MARK: The machines

    /// A member and a machine that isn't in the circle.
    private func devices() async throws -> (member: Device, other: Device) {
        let (member, other) = (try Device("one", server), try Device("two", server))
        try await member.found()
        return (member, other)
    }

    private func circle(of device: Device) async throws -> CircleID {
        CircleID(try #require(Digest(try await device.status().circle)))
    }

    private func description(of device: Device) async throws -> MachineDescription {
        try #require(MachineDescription(decoding: try await device.relay.send(.describe).message))
    }

    private func joiner(
        _ device: Device, to member: Device, timing: JoiningTiming = Self.patient
    ) async throws -> JoinerConversation {
        JoinerConversation(
            try await description(of: device), circle: try await circle(of: member),
            store: server, created: 0, timing: timing)
    }

    private func conversation(
        of member: Device, timing: JoiningTiming = Self.patient
    ) async throws -> MemberConversation {
        MemberConversation(
            member: MachineID(try await member.id()), circle: try await circle(of: member),
            known: try await knownHead(of: member), store: server, timing: timing)
    }

    /// The head of the membership log in a machine's keychain, after an exchange.
    private func knownHead(of device: Device) async throws -> LogHead {
        try await device.settle()
        return try MembershipHead(
            messageBytes: try await device.relay.send(.membershipHead).message
        ).head
    }

    private func add(
        _ machine: MachineDescription, _ name: String, by member: Device
    ) async throws {
        _ = try await member.relay.send(
            .add(machine: Data(machine.bytes), name: name, groups: nil))
        try await member.settle()
        #expect(try await member.status().isChangeWaiting == false)
    }

    private func begin(_ device: Device, _ log: CircleLog) async throws {
        _ = try await device.relay.send(.join(membership: log.records))
        try await device.settle()
    }

    /// The keys of the records of attempts to join.
    private var attempts: [String] { server.records.keys.filter { $0.contains("/j/") } }

    // MARK: Six digits

    @Test func `two machines show the same digits, and one adds the other`() async throws {
        let (one, two) = try await devices()
        try one.set("a", "1")
        let (joining, approving) = (try await joiner(two, to: one), try await conversation(of: one))
        async let shown = joining.digits()
        let candidate = try await approving.next()
        let digits = try await shown
        #expect(digits == candidate.digits)
        #expect(digits.count == 7)
        let machine = try await description(of: two)
        #expect(candidate.machine == machine)

        async let admission = joining.confirm()
        try await approving.confirm(candidate)
        try await add(candidate.machine, "two", by: one)
        let log = try await admission
        try await approving.finish(candidate)
        #expect(attempts == [])
        try await begin(two, log)
        try await converge(one, two)
        #expect(try two.values() == ["a": "1"])
        #expect(try await two.status().machines.map(\.name).sorted() == ["one", "two"])
    }

    @Test func `a member that refuses ends the attempt of the joiner`() async throws {
        let (one, two) = try await devices()
        let (joining, approving) = (try await joiner(two, to: one), try await conversation(of: one))
        async let shown = joining.digits()
        let candidate = try await approving.next()
        _ = try await shown
        try await approving.refuse(candidate)
        await #expect(throws: JoiningFailure.refused) { try await joining.confirm() }
        #expect(attempts == [])
        #expect(try await one.status().machines.count == 1)
    }

    @Test func `a joiner that rejects the membership log leaves no records`() async throws {
        let (one, two) = try await devices()
        let (joining, approving) = (try await joiner(two, to: one), try await conversation(of: one))
        async let shown = joining.digits()
        _ = try await approving.next()
        _ = try await shown
        server.alter { $0.key.contains("/m/") ? [1, 2, 3] : $0.value }
        await #expect(throws: SynchronizationFailure.self) { try await joining.confirm() }
        #expect(attempts == [])
    }

    @Test func `a joiner that has given up isn't added`() async throws {
        let (one, two) = try await devices()
        let joining = try await joiner(two, to: one, timing: Self.looking(3))
        let approving = try await conversation(of: one)
        async let shown = joining.digits()
        let candidate = try await approving.next()
        _ = try await shown
        await #expect(throws: JoiningFailure.timedOut(.addition)) { try await joining.confirm() }
        await #expect(throws: JoiningFailure.refused) { try await approving.confirm(candidate) }
        #expect(attempts == [])
    }

    @Test func `a joiner that refuses keeps the member from adding it`() async throws {
        let (one, two) = try await devices()
        let (joining, approving) = (try await joiner(two, to: one), try await conversation(of: one))
        async let shown = joining.digits()
        let candidate = try await approving.next()
        _ = try await shown
        try await joining.refuse()
        await #expect(throws: JoiningFailure.refused) { try await approving.confirm(candidate) }
        #expect(attempts == [])
    }

    @Test func `an opening that a man in the middle has replaced is refused`() async throws {
        let (one, two) = try await devices()
        let forged = Joining.Opening(
            machine: MachineKeys.random().description,
            nonce: [UInt8](repeating: 1, count: Joining.nonceByteCount))
        server.alter { $0.key.hasSuffix("/3") ? forged.bytes : $0.value }
        let (joining, approving) = (try await joiner(two, to: one), try await conversation(of: one))
        async let shown = joining.digits()
        await #expect(throws: SynchronizationFailure.self) { try await approving.next() }
        _ = try await shown
        await #expect(throws: JoiningFailure.refused) { try await joining.confirm() }
    }

    @Test func `after three failures the member answers no further requests`() async throws {
        let (one, two) = try await devices()
        let approving = try await conversation(of: one)
        server.alter { $0.key.hasSuffix("/3") ? [1, 2, 3] : $0.value }
        for count in 1...3 {
            let joining = try await joiner(two, to: one)
            async let shown = joining.digits()
            await #expect(throws: SynchronizationFailure.self) { try await approving.next() }
            _ = try await shown
            let isClosed = await approving.isClosed
            #expect(isClosed == (count == 3))
        }
        server.alter { $0.value }
        let honest = try await joiner(two, to: one, timing: Self.looking(20))
        let shown = Task { try await honest.digits() }
        await #expect(throws: SynchronizationFailure.self) { try await approving.next() }
        await #expect(throws: JoiningFailure.timedOut(.member)) { try await shown.value }
    }

    @Test func `an answered request whose commitment is never opened counts as a failure`()
        async throws
    {
        let (one, two) = try await devices()
        let approving = try await conversation(of: one, timing: Self.looking(20))
        try await requestFourTimes(two, in: try await circle(of: one))
        await #expect(throws: SynchronizationFailure.self) { try await approving.next() }
        let isClosed = await approving.isClosed
        #expect(isClosed)
        // The latest requests were answered first, and deleted.
        let left = try server.records.filter { $0.key.contains("/j/") }
            .map { try Joining.Request(decoding: $0.value).created }
        #expect(left == [1])
    }

    /// Stores four requests to join, the first one with the earliest date.
    private func requestFourTimes(_ device: Device, in circle: CircleID) async throws {
        for number in 1...4 {
            let commitment = Joiner(try await description(of: device), circle: circle).commitment
            let attempt = Hexadecimal.text(commitment.digest.bytes.prefix(8))
            let request = Joining.Request(commitment: commitment, created: Int64(number))
            server.records["\(circle)/j/\(attempt)/1"] = request.bytes
        }
    }

    /// If a member answered without limit, a server could collect its challenges, and open the
    /// commitment whose digits happen to be those that the joiner shows.
    @Test func `a challenge that the server refuses to store counts as a failure`() async throws {
        let (one, two) = try await devices()
        let (circle, known) = (try await circle(of: one), try await knownHead(of: one))
        let hostile = OccupiedStore(server)
        let approving = MemberConversation(
            member: MachineID(try await one.id()), circle: circle, known: known, store: hostile,
            timing: Self.looking(20))
        try await requestFourTimes(two, in: circle)
        await #expect(throws: SynchronizationFailure.self) { try await approving.next() }
        let isClosed = await approving.isClosed
        #expect(isClosed)
        let answered = try hostile.challenges.map {
            try Joining.Challenge(decoding: $0).commitment
        }
        #expect(answered.count == 3 && Set(answered).count == 3)
    }

    @Test func `a member notices if the server shows an older membership log`() async throws {
        let (one, two) = try await devices()
        try await one.add(two)
        let three = try Device("three", server)
        let (joining, approving) = (
            try await joiner(three, to: one), try await conversation(of: one)
        )
        server.hide { $0.hasSuffix("/m/" + String(repeating: "0", count: 15) + "2") }
        let shown = Task { try await joining.digits() }
        await #expect(throws: SynchronizationFailure.self) { try await approving.next() }
        // Nothing is answered, so the joiner would wait.
        try await joining.refuse()
        await #expect(throws: JoiningFailure.refused) { try await shown.value }
    }

    @Test func `a member refuses a membership log that a removed machine has continued`()
        async throws
    {
        let (one, two) = try await devices()
        try await one.add(two)
        let before = server.records
        _ = try await one.relay.send(.remove(try await two.id()))
        let known = try await knownHead(of: one)
        let removed = server.records
        // The server shows the removed machine an earlier log, which that machine continues.
        server.records = before
        for name in ["three", "four"] {
            let machine = try await description(of: try Device(name, server))
            try await add(machine, name, by: two)
        }
        let circle = try await circle(of: one)
        #expect(try await CircleDirectory(server).log(of: circle)?.entries.count == 4)
        let member = MemberConversation(
            member: MachineID(try await one.id()), circle: circle, known: known, store: server,
            timing: Self.patient)
        let joining = try await joiner(try Device("five", server), to: two)
        let shown = Task { try await joining.digits() }
        await #expect(throws: SynchronizationFailure.self) { try await member.next() }
        try await joining.refuse()
        await #expect(throws: JoiningFailure.refused) { try await shown.value }
        let pasting = PastedMember(circle: circle, known: known, store: server)
        await #expect(throws: SynchronizationFailure.self) { try await pasting.code() }
        server.records = removed
        _ = try await pasting.code()
    }

    @Test func `a joining message of a wrong length or beginning isn't decoded`() throws {
        let keys = MachineKeys.random()
        let (replica, _) = try Replica.found(keys, name: "one", recovery: nil, created: 0)
        var joiner = Joiner(MachineKeys.random().description, circle: replica.circle.id)
        var desk = JoinDesk(member: keys.id)
        let request = Joining.Request(commitment: joiner.commitment, created: 7)
        let challenge = try desk.answer(joiner.commitment, replica.circle)
        let opening = try joiner.open(challenge, replica.circle)
        #expect(try Joining.Request(decoding: request.bytes) == request)
        #expect(try Joining.Challenge(decoding: challenge.bytes) == challenge)
        #expect(try Joining.Opening(decoding: opening.bytes) == opening)
        #expect(request.bytes.count == 80)
        #expect(challenge.bytes.count == 160)
        #expect(opening.bytes.count == 1322)
        #expect(Joining.refusal.count == 8)
        for bytes in [request.bytes, challenge.bytes, opening.bytes, Joining.refusal] {
            var others = [bytes + [0], Array(bytes.dropLast())]
            for position in 0..<8 {
                var altered = bytes
                altered[position] ^= 0x80
                others.append(altered)
            }
            for other in others {
                #expect((try? Joining.Request(decoding: other)) == nil)
                #expect((try? Joining.Challenge(decoding: other)) == nil)
                #expect((try? Joining.Opening(decoding: other)) == nil)
            }
        }
    }

    // MARK: Pasted codes

    @Test func `a machine joins with codes that are pasted on both machines`() async throws {
        let (one, two) = try await devices()
        try one.set("a", "1")
        let circle = try await circle(of: one)
        let machine = try await description(of: two)
        let joiner = PastedJoiner(machine, circle: circle, store: server, timing: Self.patient)
        try await joiner.offer()
        let member = PastedMember(
            circle: circle, known: try await knownHead(of: one), store: server)
        let code = try await member.code()
        async let admission = joiner.join(code)
        let found = try await member.machine(joiner.code)
        #expect(found == machine)
        try await add(found, "two", by: one)
        let log = try await admission
        try await member.finish(found)
        #expect(attempts == [])
        try await begin(two, log)
        try await converge(one, two)
        #expect(try two.values() == ["a": "1"])
    }

    @Test func `codes of other machines and circles are refused`() async throws {
        let (one, two) = try await devices()
        let circle = try await circle(of: one)
        let joiner = PastedJoiner(
            try await description(of: two), circle: circle, store: server, timing: Self.patient)
        try await joiner.offer()
        let other = PastedCode(joiner: MachineKeys.random().description)
        let member = PastedMember(
            circle: circle, known: try await knownHead(of: one), store: server)
        await #expect(throws: JoiningFailure.unknownCode) { try await member.machine(other) }
        await #expect(throws: JoiningFailure.unknownCode) { try await joiner.join(other) }
        let head = PastedCode(circle: circle, head: .empty)
        await #expect(throws: JoiningFailure.unknownCode) { try await joiner.join(head) }
        try await joiner.withdraw()
        #expect(attempts == [])
    }

    // MARK: Tokens

    /// A token that expires after a number of seconds.
    private func token(of member: Device, seconds: Double) async throws -> JoinToken {
        let now = member.clock.now + Date.timeIntervalBetween1970AndReferenceDate
        let answer = try await member.relay.send(
            .makeToken(groups: nil, expires: Int64((now + seconds) * 1000)))
        let secret = try #require(answer.secret)
        return try #require(JoinToken(decoding: secret.plainBytes))
    }

    /// Waits until the server's records are as expected, for at most a minute.
    private func wait(
        for what: String, sourceLocation: SourceLocation = #_sourceLocation,
        _ condition: ([String: [UInt8]]) -> Bool
    ) async throws {
        let end = ContinuousClock.now + .seconds(60)
        while !condition(server.records) {
            try #require(
                ContinuousClock.now < end, "no \(what)", sourceLocation: sourceLocation)
            await Task.yield()
        }
    }

    @Test func `a token lets only one machine join`() async throws {
        let (one, two) = try await devices()
        try one.set("a", "1")
        let token = try await token(of: one, seconds: 60)
        let joiner = TokenJoiner(
            token, try await description(of: two), store: server, timing: Self.patient)
        async let admission = joiner.join()
        try await wait(for: "a request with a token") { records in
            records.keys.contains { $0.contains("/t/") }
        }
        try await one.settle()
        try await begin(two, try await admission)
        #expect(!server.records.keys.contains { $0.contains("/t/") })
        try await converge(one, two)
        #expect(try two.values() == ["a": "1"])

        let three = try Device("three", server)
        let late = TokenJoiner(
            token, try await description(of: three), store: server, timing: Self.patient)
        await #expect(throws: JoiningFailure.tokenUsed) { try await late.join() }
        try await converge(one, two)
        #expect(try await one.status().machines.count == 2)
        // The machine that has used the token may repeat its call, which deletes a request that an
        // interrupted call has left.
        let machine = try await description(of: two)
        let key = "\(token.grant.circle)/t/\(Hexadecimal.text(token.grant.id.bytes))"
        _ = try await server.create(key, try token.request(for: machine).bytes)
        let log = try await joiner.join()
        #expect(log.includes(machine))
        #expect(!server.records.keys.contains { $0.contains("/t/") })
    }

    @Test func `an expired token lets no machine join`() async throws {
        let (one, two) = try await devices()
        let token = try await token(of: one, seconds: 60)
        one.clock.now += 61
        let joiner = TokenJoiner(
            token, try await description(of: two), store: server, timing: Self.looking(20))
        await #expect(throws: JoiningFailure.timedOut(.addition)) { try await joiner.join() }
        try await one.settle()
        await #expect(throws: JoiningFailure.timedOut(.addition)) { try await joiner.join() }
        let status = try await one.status()
        #expect(status.machines.count == 1)
        #expect(status.notices.contains { $0.contains("expired") })
    }

    @Test func `a forged request with a token's identifier doesn't keep out the token's holder`()
        async throws
    {
        let (one, two) = try await devices()
        let token = try await token(of: one, seconds: 60)
        let machine = try await description(of: two)
        let request = try token.request(for: machine)
        let forged = JoinToken.Request(
            grant: request.grant, machine: MachineKeys.random().description,
            signature: request.signature)
        let circle = try await circle(of: one)
        let key = "\(circle)/t/\(Hexadecimal.text(token.grant.id.bytes))"
        server.records[key] = forged.bytes
        let joiner = TokenJoiner(token, machine, store: server, timing: Self.patient)
        async let admission = joiner.join()
        try await wait(for: "a request in place of the forged one") {
            $0[key] != forged.bytes
        }
        try await one.settle()
        let log = try await admission
        #expect(log.includes(machine))
    }

    // MARK: The directory

    @Test func `a circle is found by the start of its identifier among any number of other names`()
        async throws
    {
        let (one, _) = try await devices()
        let circle = try await circle(of: one)
        let digits = circle.description
        // Names that no circle has, some before the circle's in order and some after it.
        for number in 0..<300 { server.records["\(number)-other/a"] = [1] }
        for number in 0..<300 { server.records["g\(number)/a"] = [1] }
        let directory = CircleDirectory(server)
        await #expect(throws: JoiningFailure.tooManyCircles) {
            try await directory.circles()
        }
        for count in [8, 16, 64] {
            let found = try await directory.circles(
                beginningWith: String(digits.prefix(count)))
            #expect(found == [circle])
        }
        let other = String(digits.map { $0 == "0" ? "1" : "0" })
        #expect(try await directory.circles(beginningWith: other) == [])
    }

    @Test func `the circles on a server are listed`() async throws {
        let (one, two) = try await devices()
        let directory = CircleDirectory(server)
        let first = try await circle(of: one)
        #expect(try await directory.circles() == [first])
        try await two.found()
        server.records["other/a"] = [1]
        let second = try await circle(of: two)
        let circles = try await directory.circles()
        #expect(Set(circles) == [first, second])
        let log = try #require(try await directory.log(of: second))
        let machine = try await description(of: two)
        #expect(log.includes(machine))
        let none = try await directory.log(of: CircleID(.zero))
        #expect(none.map(\.entries) == nil)
        // The log of one circle in the place of the other's.
        let founding = Array(log.records[0])
        server.alter { $0.key.hasPrefix("\(first)/m/") ? founding : $0.value }
        await #expect(throws: SynchronizationFailure.self) { try await directory.log(of: first) }
    }
}
