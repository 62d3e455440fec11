// device-identity: shows the identifier of this installation, and performs the app's operations on
// the identifier.

import DeviceIdentity
import Foundation

let usage = """
    usage: device-identity [get | has | reset | export | import | migrate | register]
    `import` reads the identifier from standard input. `register` registers this device with
    the backend on port BACKEND_PORT of this machine, and waits at most BACKEND_TIME_LIMIT
    seconds for the response to the registration. BACKEND_TIME_LIMIT is at most 86400.

    """

func fail(_ message: String, status: Int32 = 1) -> Never {
    FileHandle.standardError.write(Data("device-identity: \(message)\n".utf8))
    exit(status)
}

func backend() -> BackendClient {
    let environment = ProcessInfo.processInfo.environment
    let port = environment["BACKEND_PORT"] ?? "3000"
    guard let url = URL(string: "http://127.0.0.1:\(port)") else { fail(usage, status: 64) }
    // The limit of one day also rejects numbers of seconds that a `Duration` can't represent, such
    // as NaN and 1e300.
    guard let limit = Double(environment["BACKEND_TIME_LIMIT"] ?? "60"), (0...86_400) ~= limit
    else { fail(usage, status: 64) }
    return BackendClient(baseURL: url, registrationTimeLimit: .seconds(limit))
}

@MainActor
func run(_ arguments: [String]) async throws {
    let service = DeviceIdentificationService()
    switch arguments {
    case [], ["get"]:
        let model = DeviceIdViewModel(deviceService: service)
        await model.loadDeviceIdIfNeeded()
        guard let deviceId = model.deviceId else { fail(model.errorMessage ?? "") }
        print(deviceId)
    case ["has"]:
        print(try service.hasDeviceId() ? "yes" : "no")
    case ["reset"]:
        try service.resetDeviceId()
        print("The identifier was deleted.")
    case ["export"]:
        print(try service.exportDeviceId())
    case ["import"]:
        try service.importDeviceId(readLine() ?? "")
        print("Imported.")
    case ["migrate"]:
        switch try DeviceIdMigration.migrateFromUserDefaults() {
        case .nothingToMigrate: print("Nothing to migrate.")
        case .migrated: print("Migrated.")
        case .cleanedUp: print("Cleaned up: the keychain already has an identifier.")
        }
    case ["register"]:
        let coordinator = AppCoordinator(deviceService: service, backend: backend())
        await coordinator.registerDeviceIfNeeded()
        if let message = coordinator.errorMessage { fail(message) }
        print("This device is registered.")
    default:
        FileHandle.standardError.write(Data(usage.utf8))
        exit(64)
    }
}

do {
    try await run(Array(CommandLine.arguments.dropFirst()))
} catch {
    let isAbsent = error as? DeviceIdentificationError == .deviceIdNotFound
    fail(error.localizedDescription, status: isAbsent ? 3 : 1)
}
