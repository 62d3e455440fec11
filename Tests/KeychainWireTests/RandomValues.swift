// RandomValues: values of every type in the protocol, from a fixed seed.

import Foundation
import KeychainCore
import KeychainWire
import TestPrograms

/// Generates values. Absent, empty, smallest and largest values are frequent.
struct RandomValues {
    var generator: SeededGenerator

    init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

    // MARK: Parts

    mutating func flag() -> Bool { Bool.random(using: &generator) }

    mutating func maybe<Value>(_ make: (inout RandomValues) -> Value) -> Value? {
        flag() ? make(&self) : nil
    }

    mutating func pick<Value>(_ values: [Value], else fallback: Value) -> Value {
        values.randomElement(using: &generator) ?? fallback
    }

    mutating func list<Value>(upTo count: Int, _ make: (inout RandomValues) -> Value) -> [Value] {
        (0..<Int.random(in: 0...count, using: &generator)).map { _ in make(&self) }
    }

    mutating func text() -> String {
        pick(
            ["", "a", "group.one", "Grüße 🗝", "\u{0}\n", "*", String(repeating: "x", count: 300)],
            else: "")
    }

    mutating func data() -> Data {
        let count = pick([0, 1, 14, 15, 16, 300], else: 0)
        return Data((0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
    }

    mutating func bytes16() -> Bytes16 {
        pick(
            [
                Bytes16(high: 0, low: 0), Bytes16(high: .max, low: .max),
                Bytes16(high: generator.next(), low: generator.next()),
            ], else: Bytes16(high: 0, low: 0))
    }

    mutating func number() -> Int64 {
        pick([0, 1, -1, .min, .max, Int64(truncatingIfNeeded: generator.next())], else: 0)
    }

    mutating func count() -> Int { pick([0, 1, 1000, .max], else: 0) }

    mutating func seconds() -> Double {
        pick([0, -0.5, 1e300, -1e-300, Double(number())], else: 0)
    }

    mutating func itemClass() -> ItemClass { pick(ItemClass.allCases, else: .key) }

    mutating func protection() -> ProtectionClass { pick(ProtectionClass.allCases, else: .always) }

    mutating func constraints() -> AccessConstraints {
        AccessConstraints(rawValue: generator.next()).intersection(
            flag() ? .known : .userPresence)
    }

    mutating func groups() -> AccessGroups { AccessGroups(list(upTo: 4) { $0.text() }) }

    // MARK: Attributes

    mutating func value(of kind: Attribute.Kind) -> AttributeValue {
        switch kind {
        case .string: .string(text())
        case .blob: pick([.string(text()), .data(data()), .number(number())], else: .number(0))
        case .data: .data(data())
        // Apple's parser doesn't accept "+5" as a number, so this value stays text.
        case .number: pick([.number(number()), .string("+5")], else: .number(0))
        case .date: .date(seconds())
        }
    }

    mutating func attributes() -> Attributes {
        var attributes: Attributes = [:]
        for attribute in list(upTo: 12, { $0.pick(Attribute.allCases, else: .label) }) {
            attributes[attribute] = value(of: attribute.kind)
        }
        return attributes
    }

    // MARK: Requests

    mutating func authorization() -> Authorization {
        Authorization(
            grant: maybe { AuthenticationGrant(token: $0.bytes16()) },
            applicationPassword: maybe { $0.data() })
    }

    mutating func newItem() -> NewItem {
        var item = NewItem(
            itemClass: itemClass(), attributes: attributes(), accessGroup: maybe { $0.text() },
            protection: protection(), constraints: constraints(), isSynchronizable: flag(),
            isTombstone: flag(), data: maybe { $0.data() }, authorization: authorization())
        item.keepsExisting = flag()
        return item
    }

    mutating func query() -> ItemQuery {
        ItemQuery(
            itemClass: itemClass(), attributes: attributes(), accessGroup: maybe { $0.text() },
            protection: maybe { $0.protection() }, isSynchronizable: maybe { $0.flag() },
            isTombstone: flag(), reference: maybe { ItemReference($0.bytes16()) },
            hostOrSubdomain: maybe { $0.text() }, authorization: authorization())
    }

    mutating func retrieval() -> Retrieval {
        Retrieval(
            limit: maybe { $0.count() }, includesData: flag(), includesAttributes: flag(),
            skipsConstrained: flag())
    }

    mutating func changes() -> ItemChanges {
        ItemChanges(
            attributes: attributes(), accessGroup: maybe { $0.text() },
            protection: maybe { $0.protection() }, constraints: maybe { $0.constraints() },
            isSynchronizable: maybe { $0.flag() }, isTombstone: maybe { $0.flag() },
            data: maybe { $0.data() })
    }

    mutating func passcode() -> SecretBytes { SecretBytes(copying: Array(data())) }

    /// One request of each kind.
    mutating func requests() -> [any Request] {
        [
            AddItem(newItem()), AddItems(list(upTo: 3) { $0.newItem() }),
            FindItems(query(), retrieval()),
            UpdateItems(query(), changes(), keepsVersions: flag()),
            PutItem(newItem(), orChange: query(), changes(), keepsVersions: flag()),
            DeleteItems(
                query(), tombstones: pick(TombstonePolicy.allCases, else: .never),
                keepsVersions: flag()),
            FindVersions(query(), number: maybe { $0.version() }, includesData: flag()),
            RestoreVersion(query(), number: version(), replaces: flag()),
            PurgeVersions(query(), number: maybe { $0.version() }),
            SetHistory(maybe { $0.policy() }),
            Synchronize(data(), secret: maybe { $0.passcode() }),
            FindIdentities(IdentityQuery(certificate: query(), key: query()), retrieval()),
            UpdateIdentities(
                IdentityQuery(certificate: query(), key: query()),
                IdentityChanges(certificate: changes(), key: changes())),
            DeleteIdentities(
                IdentityQuery(certificate: query(), key: query()),
                tombstones: pick(TombstonePolicy.allCases, else: .never)),
            Authenticate(passcode: passcode()), HasPasscode(), HasSecureEnclave(),
            AcceptsGrant(AuthenticationGrant(token: bytes16())),
            MakeSecureEnclaveKey(
                NewSecureEnclaveKey(
                    protection: protection(), constraints: constraints(),
                    authorization: authorization())),
            SignDigest(data(), with: data(), authorization: authorization()),
            DeriveSharedSecret(of: data(), with: data(), authorization: authorization()),
            Unlock(passcode: passcode()), Lock(), LockAll(),
            SetPasscode(passcode(), allowsWeak: flag()),
            ChangePasscode(from: passcode(), to: passcode(), allowsWeak: flag()),
            RemovePasscode(passcode()),
            ReadStatus(), ReadStatistics(), CheckKeychain(), UnlockWith(way()), ListSlots(),
            RotateKeys(provedBy: maybe { $0.way() }),
            ChangeSlots(
                pick(
                    [.add(way()), .remove(UInt32(truncatingIfNeeded: number())), .bind, .unbind],
                    else: .bind),
                provedBy: maybe { $0.way() }, allowsWeak: flag()),
        ]
    }

    mutating func version() -> UInt32 { UInt32(truncatingIfNeeded: number()) }

    mutating func policy() -> HistoryPolicy {
        HistoryPolicy(count: version(), days: version(), isForAll: flag())
    }

    mutating func way() -> WayIn {
        let secret = passcode()
        return pick(
            [.passcode(secret), .recoveryCode(secret), .credential(secret)],
            else: .passcode(secret))
    }

    mutating func slot() -> SlotSummary {
        SlotSummary(
            number: UInt32(truncatingIfNeeded: number()),
            kind: pick(SlotSummary.Kind.allCases, else: .unknown),
            madeAt: Double(count() % 1_000_000), opensPasscode: flag(), opensMachine: flag())
    }

    // MARK: Answers

    mutating func item() -> ItemSnapshot {
        ItemSnapshot(
            itemClass: itemClass(), reference: ItemReference(bytes16()), attributes: attributes(),
            accessGroup: text(), protection: protection(), constraints: constraints(),
            isSynchronizable: flag(), isTombstone: flag(), hasData: flag(),
            data: maybe { $0.data() })
    }

    mutating func failure() -> KeychainFailure {
        KeychainFailure(
            Status(rawValue: Int32(truncatingIfNeeded: number())), text(),
            cause: pick(
                [
                    .other, .damage, .permission, .contention, .interruption,
                    .authentication(constraints()), .otherMachine,
                ], else: .other), item: maybe { ItemReference($0.bytes16()) })
    }

    mutating func propertyList(depth: Int = 4) -> PropertyListValue {
        let leaf: [PropertyListValue] = [
            .text(text()), .boolean(flag()), .integer(number()), .real(seconds()),
            .date(
                Date(
                    timeIntervalSinceReferenceDate: Double(
                        Int32.random(in: 0...9, using: &generator)))),
            .data(data()),
        ]
        guard depth > 0, flag() else { return pick(leaf, else: .text("")) }
        if flag() { return .array(list(upTo: 3) { $0.propertyList(depth: depth - 1) }) }
        return .dictionary(dictionary(depth: depth - 1))
    }

    mutating func dictionary(depth: Int) -> [String: PropertyListValue] {
        var values: [String: PropertyListValue] = [:]
        for key in list(upTo: 3, { $0.text() }) { values[key] = propertyList(depth: depth) }
        return values
    }

    mutating func welcome() -> Welcome {
        Welcome(
            version: UInt32(truncatingIfNeeded: number()),
            entitlements: Entitlements(accessGroups: groups(), values: dictionary(depth: 3)),
            kind: pick([.user, .system], else: .user), allowsAdministration: flag())
    }

    mutating func status() -> KeychainStatus {
        KeychainStatus(
            directory: text(), formatVersion: count(),
            generation: generator.next(), itemCount: generator.next(),
            setAsideCount: generator.next(), hasPasscode: flag(),
            lockState: pick([.beforeFirstUnlock, .locked, .unlocked], else: .locked),
            isMemoryLocked: flag(), byteCount: count(), deviceKeyPath: text(),
            deviceKeyProtection: pick([.file, .hardware, .memory], else: .file),
            verification: VerificationState(
                pick(VerificationState.Standing.allCases, else: .never),
                at: maybe { Double($0.count()) }, problem: maybe { $0.text() }),
            machine: pick(MachineState.allCases, else: .notBound),
            whyNotBindable: maybe { $0.text() },
            deviceItemCount: generator.next(), hasRecoveryCode: flag())
    }

    mutating func statistics() -> ServiceStatistics {
        var statistics = ServiceStatistics()
        statistics.seconds = count()
        statistics.connectionCount = count()
        statistics.refusalCount = count()
        statistics.operations = list(upTo: 3) {
            ServiceStatistics.Operation(
                $0.text(), count: $0.count(), failureCount: $0.count(),
                longestMicroseconds: $0.count(), counts: $0.list(upTo: 12) { $0.count() })
        }
        return statistics
    }

    mutating func report() -> CheckReport {
        var report = CheckReport()
        report.itemCount = count()
        report.lockedCount = count()
        report.damagedItems = list(upTo: 3) {
            CheckReport.DamagedItem(
                reference: $0.maybe { ItemReference($0.bytes16()) }, what: $0.text())
        }
        report.problems = list(upTo: 3) { $0.text() }
        report.damagedPages = list(upTo: 3) { UInt32(truncatingIfNeeded: $0.number()) }
        report.setAsideCount = count()
        report.notices = list(upTo: 3) { $0.text() }
        return report
    }

    mutating func hello() -> ClientHello {
        let oldest = UInt32.random(in: 0...9, using: &generator)
        return ClientHello(versions: oldest...pick([oldest, 10, .max], else: oldest))
    }

    /// The service's failure and progress messages, and the client's hello.
    mutating func others() -> [any MessageCodable] {
        [failure(), RequestProgress(done: count(), total: count()), hello()]
    }

    /// One answer of each type.
    mutating func answers() -> [any MessageCodable] {
        [
            welcome(), Done(), item(), list(upTo: 3) { $0.item() },
            list(upTo: 3) { Identity(certificate: $0.item(), key: $0.item()) }, count(), flag(),
            AuthenticationGrant(token: bytes16()),
            MadeSecureEnclaveKey(blob: data(), publicKey: data()), data(),
            SecretBytes(copying: data()), status(), statistics(), report(),
            list(upTo: 3) { $0.slot() }, policy(),
            Synchronize.Answer(data(), secret: maybe { $0.passcode() }),
            list(upTo: 3) {
                ItemVersion(
                    number: $0.version(), moment: Double($0.count() % 1_000_000),
                    change: $0.pick(ItemVersion.Change.allCases, else: .deleted), item: $0.item())
            },
        ]
    }
}
