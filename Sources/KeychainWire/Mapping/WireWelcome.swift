// WireWelcome: in messages, what the service says of itself and of a client's entitlements.

import Foundation
import KeychainEngine
import KeychainModel

extension WireWelcome {
    init(_ welcome: Welcome) {
        self.init()
        version = welcome.version
        groups = WireAccessGroups(welcome.entitlements.accessGroups)
        entitlements = welcome.entitlements.values.mapValues { WirePropertyListValue($0) }
        kind =
            switch welcome.kind {
            case .user: .user
            case .system: .system
            }
        allowsAdministration = welcome.allowsAdministration
    }

    func welcome() throws(KeychainFailure) -> Welcome {
        let kind: Welcome.Kind
        switch self.kind {
        case .user: kind = .user
        case .system: kind = .system
        case .unspecified, .UNRECOGNIZED:
            throw .param("The kind of the keychain service isn't known.")
        }
        var values: [String: PropertyListValue] = [:]
        for (key, value) in entitlements { values[key] = try value.propertyList() }
        return Welcome(
            version: version,
            entitlements: Entitlements(accessGroups: groups.groups, values: values), kind: kind,
            allowsAdministration: allowsAdministration)
    }
}

extension WirePropertyListValue {
    fileprivate init(_ value: PropertyListValue) {
        self.init()
        self.value =
            switch value {
            case .text(let text): .text(text)
            case .boolean(let boolean): .boolean(boolean)
            case .integer(let integer): .integer(integer)
            case .real(let real): .real(real)
            case .date(let date): .date(date.timeIntervalSinceReferenceDate)
            case .data(let data): .data(data)
            case .array(let values): .array(WirePropertyListArray(values))
            case .dictionary(let values): .dictionary(WirePropertyListDictionary(values))
            }
    }

    /// How deep it can go was bounded when the message was read.
    fileprivate func propertyList() throws(KeychainFailure) -> PropertyListValue {
        switch value {
        case .text(let text): return .text(text)
        case .boolean(let boolean): return .boolean(boolean)
        case .integer(let integer): return .integer(integer)
        case .real(let real): return .real(real)
        case .date(let seconds): return .date(Date(timeIntervalSinceReferenceDate: seconds))
        case .data(let data): return .data(data)
        case .array(let array):
            var values: [PropertyListValue] = []
            for message in array.values { values.append(try message.propertyList()) }
            return .array(values)
        case .dictionary(let dictionary):
            var values: [String: PropertyListValue] = [:]
            for (key, message) in dictionary.values { values[key] = try message.propertyList() }
            return .dictionary(values)
        case nil: throw .param("An entitlement has no value.")
        }
    }
}

extension WirePropertyListArray {
    fileprivate init(_ values: [PropertyListValue]) {
        self.init()
        self.values = values.map { WirePropertyListValue($0) }
    }
}

extension WirePropertyListDictionary {
    fileprivate init(_ values: [String: PropertyListValue]) {
        self.init()
        self.values = values.mapValues { WirePropertyListValue($0) }
    }
}
