// SecretService: imports the items of the Secret Service on this user's bus. A program such as
// gnome-keyring, KWallet or KeePassXC provides this service. Source: Secret Service API Draft 0.2.
//   (1) The service is only read: no call changes one of its items.
//   (2) All collections are imported, or none: if one is locked or can't be read, the import fails
//       before anything is written.
//   (3) Secrets cross the user's bus unencrypted (the algorithm "plain"). A program that can listen
//       on the bus could also request the secrets itself.

import FoundationEssentials
import KeychainCore

struct SecretService {
    private var connection: DBusConnection
    private let session: String

    private static let name = "org.freedesktop.secrets"
    private static let interface = "org.freedesktop.Secret"

    /// Reads all items of all collections.
    static func items() throws(ControlFailure) -> [ImportedItem] {
        do throws(DBusFailure) {
            var service = try SecretService()
            return KeyringFile.distinct(try service.items())
        } catch {
            throw ControlFailure(
                status(of: error), "\(text(of: error)) \(ImportSource.consequence)")
        }
    }

    private init() throws(DBusFailure) {
        connection = try DBusConnection()
        let answer = try connection.call(
            Self.method("Service", "OpenSession", of: "/org/freedesktop/secrets"),
            .string("plain"), .variant(""))
        guard answer.count == 2, let session = answer[1].text else { throw .broken }
        self.session = session
    }

    private mutating func items() throws(DBusFailure) -> [KeyringFile.Item] {
        let service = try properties(of: "/org/freedesktop/secrets", "Service")
        guard let collections = service["Collections"]?.list else { throw .broken }
        var paths: [String] = []
        for collection in collections.compactMap(\.text) {
            let properties = try properties(of: collection, "Collection")
            guard let items = properties["Items"]?.list, let isLocked = properties["Locked"]?.number
            else { throw .broken }
            if isLocked != 0 {
                throw .answered(
                    name: Self.interface + ".Error.IsLocked",
                    text: properties["Label"]?.text ?? collection)
            }
            paths += items.compactMap(\.text)
        }
        let line = ProgressLine()
        defer { line.end() }
        var items: [KeyringFile.Item] = []
        for (index, path) in paths.sorted().enumerated() {
            if index.isMultiple(of: 100) {
                line.show("read \(index) of \(counted(paths.count, "item"))")
            }
            items.append(try item(path))
        }
        return items
    }

    private mutating func item(_ path: String) throws(DBusFailure) -> KeyringFile.Item {
        let properties = try properties(of: path, "Item")
        let answer = try connection.call(
            Self.method("Item", "GetSecret", of: path), .objectPath(session))
        // A secret has the fields session, parameters, value and content type.
        guard let secret = answer.first?.list, secret.count == 4, let value = secret[2].bytes,
            let attributes = properties["Attributes"]?.dictionary
        else { throw .broken }
        var item = KeyringFile.Item()
        item.name = properties["Label"]?.text ?? ""
        item.secret = Data(value)
        item.modified = properties["Modified"]?.number ?? 0
        item.attributes = attributes.compactMapValues(\.text)
        return item
    }

    // MARK: Calls

    private static func method(_ kind: String, _ method: String, of path: String) -> DBusMethod {
        DBusMethod(
            destination: name, path: path, interface: "\(interface).\(kind)", name: method)
    }

    private mutating func properties(
        of path: String, _ kind: String
    ) throws(DBusFailure) -> [String: DBusValue] {
        let answer = try connection.call(
            DBusMethod(
                destination: Self.name, path: path,
                interface: "org.freedesktop.DBus.Properties", name: "GetAll"),
            .string("\(Self.interface).\(kind)"))
        guard let properties = answer.first?.dictionary else { throw .broken }
        return properties
    }

    // MARK: Failures

    private static func status(of failure: DBusFailure) -> ControlStatus {
        guard case .answered(let name, _) = failure else { return .failure }
        return name == interface + ".Error.IsLocked" ? .locked : .failure
    }

    private static func text(of failure: DBusFailure) -> String {
        switch failure {
        case .noBus:
            "There is no user bus that accepts connections at DBUS_SESSION_BUS_ADDRESS or, if that "
                + "is not set, in XDG_RUNTIME_DIR."
        case .broken: "The user's bus, or the Secret Service on it, sent no valid response."
        case .answered("org.freedesktop.DBus.Error.ServiceUnknown", _):
            "No Secret Service is running on the user's bus, and none can be started."
        case .answered(interface + ".Error.IsLocked", let label):
            "The collection “\(printable(label))” is locked. Unlock it in the program that manages "
                + "it, and run this command again."
        case .answered(let name, let text):
            "The Secret Service returned an error: \(printable(name)): \(printable(text))."
        }
    }
}
