// WireReply: answers and notifications in messages.

import FoundationEssentials
import KeychainModel
import SwiftProtobuf

extension WireReply {
    init(_ reply: ServiceReply) {
        self.init()
        id = reply.id
        content =
            switch reply.content {
            case .failure(let failure): .failure(WireFailure(failure))
            case .changed: .changed(WireNothing())
            case .progress(let done, let total):
                .progress(
                    .with {
                        $0.done = UInt64(clamping: done)
                        $0.total = UInt64(clamping: total)
                    })
            case .answer(let answer): OneOf_Content(answer, isContinued: false)
            case .part(let answer): OneOf_Content(answer, isContinued: true)
            }
    }

    /// - Throws: `param` for what is no reply, or none that is known.
    func reply() throws(KeychainFailure) -> ServiceReply {
        guard let content else { throw .param("The keychain service sent an unknown answer.") }
        return ServiceReply(id: id, try content.content())
    }
}

extension WireReply.OneOf_Content {
    fileprivate init(_ answer: ServiceAnswer, isContinued: Bool) {
        self =
            switch answer {
            case .welcome(let welcome): .welcome(WireWelcome(welcome))
            case .done: .done(WireNothing())
            case .item(let item): .item(WireItem(item))
            case .items(let items):
                .items(
                    .with {
                        $0.items = items.map(WireItem.init)
                        $0.isContinued = isContinued
                    })
            case .identities(let identities):
                .identities(
                    .with {
                        $0.identities = identities.map(WireIdentity.init)
                        $0.isContinued = isContinued
                    })
            case .count(let count): .count(UInt64(clamping: count))
            case .flag(let flag): .flag(flag)
            case .grant(let grant): .grant(grant.token.wire)
            case .secureEnclaveKey(let key): .secureEnclaveKey(WireSecureEnclaveKey(key))
            case .data(let data): .data(data)
            case .status(let status): .status(WireStatus(status))
            case .report(let report): .report(WireReport(report))
            }
    }

    fileprivate func content() throws(KeychainFailure) -> ServiceReply.Content {
        switch self {
        case .failure(let message): return .failure(try message.failure())
        case .changed: return .changed
        case .progress(let message):
            return .progress(
                done: try Int(wire: message.done), total: try Int(wire: message.total))
        case .welcome(let message): return .answer(.welcome(try message.welcome()))
        case .done: return .answer(.done)
        case .item(let message): return .answer(.item(try message.item()))
        case .items(let message):
            var items: [Item] = []
            items.reserveCapacity(message.items.count)
            for item in message.items { items.append(try item.item()) }
            return message.isContinued ? .part(.items(items)) : .answer(.items(items))
        case .identities(let message):
            var identities: [Identity] = []
            identities.reserveCapacity(message.identities.count)
            for identity in message.identities { identities.append(try identity.identity()) }
            return message.isContinued
                ? .part(.identities(identities)) : .answer(.identities(identities))
        case .count(let count): return .answer(.count(try Int(wire: count)))
        case .flag(let flag): return .answer(.flag(flag))
        case .grant(let token):
            return .answer(.grant(AuthenticationGrant(token: try Bytes16(wire: token))))
        case .secureEnclaveKey(let message): return .answer(.secureEnclaveKey(message.key))
        case .data(let data): return .answer(.data(data))
        case .status(let message): return .answer(.status(try message.status()))
        case .report(let message): return .answer(.report(try message.report()))
        }
    }
}
