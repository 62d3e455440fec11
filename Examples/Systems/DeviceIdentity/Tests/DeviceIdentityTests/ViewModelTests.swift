// ViewModelTests: DeviceIdViewModel loads the identifier once, at the view's first appearance.

import DeviceIdentity
import DeviceIdentityTesting
import Foundation
import Observation
import Security
import Synchronization
import Testing

@MainActor
@Suite struct `View model` {
    @Test func `the identifier is read only once, when the view appears`() async throws {
        let spy = Spy(MockKeychainService())
        let devices = DeviceIdentificationService(keychain: spy)
        let model = DeviceIdViewModel(deviceService: devices)
        #expect(model.deviceId == nil)
        #expect(spy.calls == [])
        await model.loadDeviceIdIfNeeded()
        let deviceId = try #require(model.deviceId)
        #expect(spy.calls == ["load", "add"])
        // The model itself prevents a second load, even if the service has no cached identifier.
        try devices.resetDeviceId()
        await model.loadDeviceIdIfNeeded()
        #expect(model.deviceId == deviceId)
        #expect(spy.calls == ["load", "add", "delete"])
        #expect(!model.isLoading)
        #expect(model.errorMessage == nil)
    }

    @Test func `views that appear at the same time load the identifier only once`() async throws {
        let keychain = StuckKeychain()
        let model = DeviceIdViewModel(
            deviceService: DeviceIdentificationService(keychain: keychain))
        let first = Task { await model.loadDeviceIdIfNeeded() }
        try await keychain.waitForRead()
        #expect(model.isLoading)
        // This call does not wait.
        await model.loadDeviceIdIfNeeded()
        #expect(model.deviceId == nil)
        keychain.goOn(2)
        await first.value
        #expect(model.deviceId == keychain.deviceId)
        #expect(keychain.readCount == 1)
    }

    @Test func `a failure is shown, and the next appearance tries again`() async throws {
        let mock = MockKeychainService()
        mock.failure = errSecInteractionNotAllowed
        let model = DeviceIdViewModel(deviceService: DeviceIdentificationService(keychain: mock))
        await model.loadDeviceIdIfNeeded()
        #expect(model.deviceId == nil)
        #expect(
            model.errorMessage == "Unable to access secure storage. Please restart the app.")
        #expect(!model.isLoading)
        mock.failure = nil
        await model.loadDeviceIdIfNeeded()
        #expect(model.deviceId == (try mock.loadUUID(for: KeychainKeys.deviceId)))
        #expect(model.deviceId != nil)
        #expect(model.errorMessage == nil)
    }

    @Test func `a view that observes the identifier is notified when the identifier changes`() async
    {
        let model = DeviceIdViewModel(
            deviceService: DeviceIdentificationService(keychain: MockKeychainService()))
        let changes = Mutex(0)
        withObservationTracking {
            _ = model.deviceId
        } onChange: {
            changes.withLock { $0 += 1 }
        }
        await model.loadDeviceIdIfNeeded()
        #expect(changes.withLock { $0 } == 1)
    }
}
