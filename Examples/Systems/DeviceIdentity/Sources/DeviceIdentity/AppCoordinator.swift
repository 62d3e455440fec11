// AppCoordinator: the app's work at launch.
//   (1) A device is registered only after the backend has reported that it isn't registered.
//   (2) Within one process, coordinators that register the same device share one registration.
//   (3) If the identifier can't be read, it is not replaced and nothing is sent.

import Foundation
import Observation

/// Registers this installation with the backend.
@MainActor
@Observable
public final class AppCoordinator {
    /// The identifier that is known to be registered with the backend.
    public private(set) var registeredDeviceId: UUID?
    /// The message for the user if the last call of ``registerDeviceIfNeeded()`` failed.
    public private(set) var errorMessage: String?

    /// The registrations in progress in this process.
    @ObservationIgnored private static var registrations: [UUID: Task<Void, any Error>] = [:]

    @ObservationIgnored private let deviceService: DeviceIdentificationService
    @ObservationIgnored private let backend: any DeviceBackend

    /// Creates a coordinator. Nothing is sent yet.
    ///
    /// - Parameters:
    ///   - deviceService: The app's device service.
    ///   - backend: The app's backend. All coordinators of a process must use the same backend.
    public init(
        deviceService: DeviceIdentificationService = DeviceIdentificationService(),
        backend: any DeviceBackend
    ) {
        self.deviceService = deviceService
        self.backend = backend
    }

    /// Registers this installation unless it is already registered. Call this method at every
    /// launch.
    ///
    /// After a failure, ``errorMessage`` contains the message for the user, and the next call or
    /// launch retries. The installation is registered if ``registeredDeviceId`` is its identifier.
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

    /// Checks and registers the device, or waits for another coordinator that is already doing so.
    private func checkAndRegister(_ deviceId: UUID) async throws {
        if let registration = Self.registrations[deviceId] { return try await registration.value }
        let registration = Task {
            if try await !checkDeviceRegistration(deviceId) { try await registerDevice(deviceId) }
        }
        Self.registrations[deviceId] = registration
        defer { Self.registrations[deviceId] = nil }
        try await registration.value
    }

    /// Asks the backend whether a device is registered.
    private func checkDeviceRegistration(_ deviceId: UUID) async throws -> Bool {
        try await backend.isRegistered(deviceId)
    }

    /// Registers a device that isn't registered.
    private func registerDevice(_ deviceId: UUID) async throws {
        do {
            try await backend.register(deviceId)
        } catch let noAnswer as URLError {
            // The backend may have carried out the registration. Check instead of sending the
            // request again.
            guard let isRegistered = try? await checkDeviceRegistration(deviceId), isRegistered
            else { throw noAnswer }
        }
    }
}
