// AppCoordinatorTests: registration is retried after a failure, and a device is never registered
// twice.

import DeviceIdentity
import DeviceIdentityTesting
import Foundation
import KeychainTesting
import Security
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@MainActor
@Suite struct `App coordinator` {
    let mock = MockKeychainService()
    let backend = BackendStub()

    /// Creates the coordinator of another launch. Only the keychain and the backend keep their
    /// content between launches.
    func launch() -> AppCoordinator {
        AppCoordinator(
            deviceService: DeviceIdentificationService(keychain: mock), backend: backend)
    }

    @Test
    func `the first launch registers the device, and a later launch only checks the registration`()
        async throws
    {
        let first = launch()
        await first.registerDeviceIfNeeded()
        let deviceId = try #require(try mock.loadUUID(for: KeychainKeys.deviceId))
        #expect(first.registeredDeviceId == deviceId)
        #expect(first.errorMessage == nil)
        #expect(await backend.requests == [.check(deviceId), .register(deviceId)])
        let second = launch()
        await second.registerDeviceIfNeeded()
        #expect(second.registeredDeviceId == deviceId)
        #expect(
            await backend.requests == [.check(deviceId), .register(deviceId), .check(deviceId)])
    }

    @Test func `after a registration no request is sent until the identifier changes`() async throws
    {
        let coordinator = launch()
        await coordinator.registerDeviceIfNeeded()
        await coordinator.registerDeviceIfNeeded()
        #expect(await backend.requests.count == 2)

        let devices = DeviceIdentificationService(keychain: mock)
        let other = AppCoordinator(deviceService: devices, backend: backend)
        await other.registerDeviceIfNeeded()
        let imported = UUID()
        try devices.importDeviceId(imported)
        await other.registerDeviceIfNeeded()
        #expect(other.registeredDeviceId == imported)
        #expect(await backend.requests.suffix(2) == [.check(imported), .register(imported)])
    }

    @Test func `if the check fails, nothing is registered, and the next launch tries again`()
        async throws
    {
        await backend.answerNext(check: .failure(BackendError.status(503)))
        let first = launch()
        await first.registerDeviceIfNeeded()
        #expect(first.registeredDeviceId == nil)
        #expect(first.errorMessage == "An unexpected error occurred.")
        #expect(await backend.registrationCount == 0)
        let second = launch()
        await second.registerDeviceIfNeeded()
        #expect(second.registeredDeviceId != nil)
        #expect(second.errorMessage == nil)
        #expect(await backend.registrationCount == 1)
    }

    @Test
    func `after an error response, only the next call retries the registration`()
        async throws
    {
        await backend.answerNext(register: .refused(BackendError.status(503)))
        let coordinator = launch()
        await coordinator.registerDeviceIfNeeded()
        #expect(coordinator.registeredDeviceId == nil)
        #expect(coordinator.errorMessage == "An unexpected error occurred.")
        #expect(await backend.requests.count == 2)
        await coordinator.registerDeviceIfNeeded()
        #expect(coordinator.registeredDeviceId != nil)
        #expect(coordinator.errorMessage == nil)
        #expect(await backend.requests.count == 4)
        #expect(await backend.devices.count == 1)
    }

    @Test func `a registration whose answer came too late is not repeated`() async throws {
        await backend.answerNext(register: .carriedOut(URLError(.timedOut)))
        let first = launch()
        await first.registerDeviceIfNeeded()
        let deviceId = try #require(try mock.loadUUID(for: KeychainKeys.deviceId))
        #expect(first.registeredDeviceId == deviceId)
        #expect(first.errorMessage == nil)
        await launch().registerDeviceIfNeeded()
        #expect(
            await backend.requests
                == [.check(deviceId), .register(deviceId), .check(deviceId), .check(deviceId)])
    }

    @Test
    func `if the check after a lost answer fails too, the next launch doesn't register again`()
        async throws
    {
        await backend.answerNext(register: .carriedOut(URLError(.networkConnectionLost)))
        await backend.answerNext(check: .success(false))
        await backend.answerNext(check: .failure(URLError(.cannotConnectToHost)))
        let first = launch()
        await first.registerDeviceIfNeeded()
        #expect(first.registeredDeviceId == nil)
        #expect(first.errorMessage == "An unexpected error occurred.")
        let second = launch()
        await second.registerDeviceIfNeeded()
        #expect(second.registeredDeviceId != nil)
        #expect(await backend.registrationCount == 1)
    }

    @Test func `the next launch repeats a registration that the backend did not carry out`()
        async throws
    {
        await backend.answerNext(register: .refused(URLError(.timedOut)))
        let first = launch()
        await first.registerDeviceIfNeeded()
        #expect(first.registeredDeviceId == nil)
        #expect(first.errorMessage == "An unexpected error occurred.")
        #expect(await backend.registrationCount == 1)
        let second = launch()
        await second.registerDeviceIfNeeded()
        #expect(second.registeredDeviceId != nil)
        #expect(await backend.registrationCount == 2)
        #expect(await backend.devices.count == 1)
    }

    @Test func `concurrent coordinators register the device once`() async throws {
        let devices = DeviceIdentificationService(keychain: mock)
        // The identifier is already cached, so all coordinators start to register at the same time.
        let deviceId = try await devices.getDeviceId()
        let coordinators = (1...10).map { _ in
            AppCoordinator(deviceService: devices, backend: backend)
        }
        await withTaskGroup { group in
            for coordinator in coordinators {
                group.addTask { await coordinator.registerDeviceIfNeeded() }
            }
        }
        #expect(coordinators.allSatisfy { $0.registeredDeviceId == deviceId })
        #expect(await backend.registrationCount == 1)
    }

    @Test func `after a failed registration the next coordinator registers the device`()
        async throws
    {
        await backend.answerNext(register: .refused(BackendError.status(403)))
        let devices = DeviceIdentificationService(keychain: mock)
        _ = try await devices.getDeviceId()
        let first = AppCoordinator(deviceService: devices, backend: backend)
        await first.registerDeviceIfNeeded()
        #expect(first.errorMessage == "An unexpected error occurred.")
        let second = AppCoordinator(deviceService: devices, backend: backend)
        await second.registerDeviceIfNeeded()
        #expect(second.errorMessage == nil)
        #expect(await backend.devices.count == 1)
    }

    // MARK: Identifiers that can't be read

    @Test func `if the identifier can't be read, nothing is registered and an error is shown`()
        async throws
    {
        let deviceId = UUID()
        try mock.saveUUID(deviceId, for: KeychainKeys.deviceId)
        mock.failure = errSecInteractionNotAllowed
        let coordinator = launch()
        await coordinator.registerDeviceIfNeeded()
        #expect(
            coordinator.errorMessage
                == "Unable to access secure storage. Please restart the app.")
        #expect(await backend.requests == [])
        mock.failure = nil
        await coordinator.registerDeviceIfNeeded()
        #expect(coordinator.registeredDeviceId == deviceId)
        #expect(coordinator.errorMessage == nil)
    }

    @Test func `an identifier in another format is not registered and is kept`() async throws {
        try mock.saveString("device 1", for: KeychainKeys.deviceId)
        let coordinator = launch()
        await coordinator.registerDeviceIfNeeded()
        #expect(
            coordinator.errorMessage
                == "Unable to access secure storage. Please restart the app.")
        #expect(await backend.requests == [])
        #expect(try mock.loadString(for: KeychainKeys.deviceId) == "device 1")
    }

    @Test
    func `registration fails before the first unlock and uses the same identifier afterwards`()
        async throws
    {
        let keychain = TestKeychain()
        try await keychain.withSecItem {
            let deviceId = try await DeviceIdentificationService().getDeviceId()
            try keychain.setPasscode("1234")
            try keychain.restart()
            let coordinator = AppCoordinator(backend: backend)
            await coordinator.registerDeviceIfNeeded()
            #expect(
                coordinator.errorMessage
                    == "Unable to access secure storage. Please restart the app.")
            #expect(await backend.requests == [])
            try keychain.unlock()
            await coordinator.registerDeviceIfNeeded()
            #expect(coordinator.registeredDeviceId == deviceId)
            #expect(await backend.devices == [deviceId])
        }
    }
}

/// A backend whose responses the test determines.
actor BackendStub: DeviceBackend {
    enum Request: Equatable {
        case check(UUID), register(UUID)
    }

    enum Registration {
        /// The request is not carried out, and the associated error is thrown.
        case refused(any Error)
        /// The request is carried out, and the associated error is thrown.
        case carriedOut(any Error)
    }

    private(set) var requests: [Request] = []
    private(set) var devices: Set<UUID> = []
    private var checks: [Result<Bool, any Error>] = []
    private var registrations: [Registration] = []

    var registrationCount: Int {
        requests.count { if case .register = $0 { true } else { false } }
    }

    func answerNext(check: Result<Bool, any Error>) { checks.append(check) }
    func answerNext(register: Registration) { registrations.append(register) }

    func isRegistered(_ deviceId: UUID) async throws -> Bool {
        requests.append(.check(deviceId))
        let answer =
            checks.isEmpty ? .success(devices.contains(deviceId)) : checks.removeFirst()
        // Let other tasks run after the answer is determined, so that concurrent checks receive the
        // same answer.
        for _ in 1...1000 { await Task.yield() }
        return try answer.get()
    }

    func register(_ deviceId: UUID) async throws {
        requests.append(.register(deviceId))
        guard !registrations.isEmpty else {
            devices.insert(deviceId)
            return
        }
        switch registrations.removeFirst() {
        case .refused(let error): throw error
        case .carriedOut(let error):
            devices.insert(deviceId)
            throw error
        }
    }
}
