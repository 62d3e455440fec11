// DeviceIdViewModel: the model of a view that shows the identifier.

import Foundation
import Observation

/// Loads the identifier when its view first appears.
@MainActor
@Observable
public final class DeviceIdViewModel {
    /// The identifier, once it has been loaded.
    public private(set) var deviceId: UUID?
    /// Whether the identifier is being loaded.
    public private(set) var isLoading = false
    /// The message for the user if the identifier could not be loaded.
    public private(set) var errorMessage: String?

    @ObservationIgnored private let deviceService: DeviceIdentificationService

    /// Creates a model without loading the identifier.
    ///
    /// - Parameter deviceService: The app's device service.
    public init(deviceService: DeviceIdentificationService = DeviceIdentificationService()) {
        self.deviceService = deviceService
    }

    /// Loads the identifier once. Call this method in the `task` of the view, which runs at each
    /// appearance.
    ///
    /// While the identifier is being loaded and after it has been loaded, this method has no
    /// effect. After a failure, the next appearance retries.
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
