// DeviceIdViewModel: what a view that shows the identifier observes.

import Foundation
import Observation

/// Loads the identifier when its view first appears, and not before.
@MainActor
@Observable
public final class DeviceIdViewModel {
    /// The identifier, once it is loaded.
    public private(set) var deviceId: UUID?
    /// Whether it is being loaded.
    public private(set) var isLoading = false
    /// What to tell the user, if it could not be loaded.
    public private(set) var errorMessage: String?

    @ObservationIgnored private let deviceService: DeviceIdentificationService

    /// A model that has loaded nothing.
    ///
    /// - Parameter deviceService: The app's.
    public init(deviceService: DeviceIdentificationService = DeviceIdentificationService()) {
        self.deviceService = deviceService
    }

    /// Loads the identifier, once. For the `task` of the view, which is run at each appearance.
    ///
    /// While it is being loaded and after it was loaded this does nothing. After a failure the
    /// next appearance tries again.
    public func loadDeviceIdIfNeeded() async {
        guard deviceId == nil, !isLoading else { return }
        isLoading = true
        defer { isLoading = false }
        do {
            deviceId = try await deviceService.getDeviceId()
            errorMessage = nil
        } catch {
            errorMessage = UserMessage.text(for: error)
        }
    }
}
