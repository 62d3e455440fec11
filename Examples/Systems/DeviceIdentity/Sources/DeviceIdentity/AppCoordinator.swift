// AppCoordinator: what the app does at launch.
//   (1) A device is registered only after the backend has said that it isn't.
//   (2) In one process, coordinators that register the same device do it together.
//   (3) An identifier that can't be read is not replaced, and nothing is sent.

import Foundation
import Observation

/// Registers this installation with the backend.
@MainActor
@Observable
public final class AppCoordinator {
    /// The identifier that the backend is known to have registered.
    public private(set) var registeredDeviceId: UUID?
    /// What to tell the user, if the last registration failed.
    public private(set) var errorMessage: String?

    /// Registrations under way in this process.
    @ObservationIgnored private static var registrations: [UUID: Task<Void, any Error>] = [:]

    @ObservationIgnored private let deviceService: DeviceIdentificationService
    @ObservationIgnored private let backend: any DeviceBackend

    /// A coordinator that has asked nothing.
    ///
    /// - Parameters:
    ///   - deviceService: The app's.
    ///   - backend: The app's. All coordinators of a process have the same.
    public init(
        deviceService: DeviceIdentificationService = DeviceIdentificationService(),
        backend: any DeviceBackend
    ) {
        self.deviceService = deviceService
        self.backend = backend
    }

    /// Registers this installation unless it is registered. Call it at every launch.
    ///
    /// After a failure ``errorMessage`` says what to tell the user, and the next call or launch
    /// tries again. It is registered when ``registeredDeviceId`` is its identifier.
    public func registerDeviceIfNeeded() async {
        do {
            let deviceId = try await deviceService.getDeviceId()
            if registeredDeviceId != deviceId {
                try await checkAndRegister(deviceId)
                registeredDeviceId = deviceId
            }
            errorMessage = nil
        } catch {
            errorMessage = UserMessage.text(for: error)
        }
    }

    /// Does what another coordinator may be doing already, and waits for it then.
    private func checkAndRegister(_ deviceId: UUID) async throws {
        if let registration = Self.registrations[deviceId] { return try await registration.value }
        let registration = Task {
            if try await !checkDeviceRegistration(deviceId) { try await registerDevice(deviceId) }
        }
        Self.registrations[deviceId] = registration
        defer { Self.registrations[deviceId] = nil }
        try await registration.value
    }

    /// Asks the backend.
    private func checkDeviceRegistration(_ deviceId: UUID) async throws -> Bool {
        try await backend.isRegistered(deviceId)
    }

    /// Registers a device that isn't.
    private func registerDevice(_ deviceId: UUID) async throws {
        do {
            try await backend.register(deviceId)
        } catch let noAnswer as URLError {
            // It can have been carried out. That is asked, not done a second time.
            guard let isRegistered = try? await checkDeviceRegistration(deviceId), isRegistered
            else { throw noAnswer }
        }
    }
}
