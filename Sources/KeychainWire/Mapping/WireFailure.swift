// WireFailure: in messages, why a request was not carried out.

import KeychainModel

extension WireFailure {
    init(_ failure: KeychainFailure) {
        self.init()
        status = failure.status.rawValue
        reason = failure.reason
        switch failure.cause {
        case .damage: cause = .damage
        case .permission: cause = .permission
        case .contention: cause = .contention
        case .interruption: cause = .interruption
        case .other: cause = .other
        case .authentication(let constraints):
            cause = .authentication
            self.constraints = constraints.rawValue
        }
        if let item = failure.item { self.item = item.value.wire }
    }

    /// - Throws: `param` for an item that can't be one.
    func failure() throws(KeychainFailure) -> KeychainFailure {
        let cause: KeychainFailure.Cause =
            switch self.cause {
            case .damage: .damage
            case .permission: .permission
            case .contention: .contention
            case .interruption: .interruption
            case .authentication: .authentication(AccessConstraints(rawValue: constraints))
            case .other, .UNRECOGNIZED: .other
            }
        return KeychainFailure(
            Status(rawValue: status), reason, cause: cause,
            item: hasItem ? ItemReference(try Bytes16(wire: item)) : nil)
    }
}
