// Limit: all limits on the benchmarks' figures, in one table.
//   (1) Each limit is defined only here. Some limits also have an aim: a stricter limit that has
//       not been reached yet. Only the limits from the specifications of the example systems are
//       elsewhere: in `systems-benchmarks` in Examples/Systems.
//   (2) Noise is determined from the rounds of the same run. A limit is missed if the median and
//       at least three quarters of the rounds miss it. If the median misses the limit but more
//       than a quarter of the rounds don't, the result is within noise. A figure that was counted
//       or measured once has no noise.
//   (3) A floor is the cost of the same work without a keychain, measured in the same run. A
//       reference time is a constant in `ReferenceTime`.

package enum Limit: String, CaseIterable, Encodable, Sendable {
    case load = "load by key, against the floor"
    case loadReference = "load by key, times faster than the reference time"
    case loadGrowth = "growth of a load by key, against that of the floor"
    case copyMatching = "SecItemCopyMatching, against the floor"
    case copyMatchingAlone = "SecItemCopyMatching without casts, against the floor"
    case save = "save, against the floor"
    case saveAtMillion = "save into a million, against the floor"
    case saveReference = "save, times faster than the reference time"
    case roundTripReference = "symmetric key, times faster than the reference time"
    case logFramesOfNewItem = "log frames, save of a new item"
    case logFramesOverItem = "log frames, save over an item"
    case threads = "saves of 8 threads"
    case processes = "saves of 8 processes through the service"
    case list = "list"
    case serviceLoad = "load through the service"
    case coldStart = "cold start"
    case serviceColdStart = "cold start through the service"
    case oneShot = "keychainctl get, whole process"
    case keychainctlSize = "size of keychainctl"
    case keychaindSize = "size of keychaind"
    case memory = "peak memory of a process"
    case serviceMemory = "peak memory of the service"

    /// The limit that is enforced now, with some tolerance for other machines. A limit on a ratio
    /// is a factor; other limits are in the figure's unit: nanoseconds, bytes, items per second or
    /// frames.
    package var bound: Bound {
        switch self {
        // In a keychain of each measured size.
        case .load: .atMost(4.5)
        case .loadReference: .atLeast(50)
        // With more items, the time of a load may grow no faster than that of the floor. The floor
        // also takes longer in a larger file, because the processor's caches hold a smaller part
        // of the file.
        case .loadGrowth: .atMost(1)
        case .copyMatching: .atMost(8.5)
        case .copyMatchingAlone: .atMost(5)
        // For a new item and for a replaced one.
        case .save, .saveAtMillion: .atMost(3.2)
        case .saveReference: .atLeast(3)
        case .roundTripReference: .atLeast(1)
        case .logFramesOfNewItem: .atMost(7)
        case .logFramesOverItem: .atMost(2)
        // The ratio of the measured rate to the expected rate. The expected rate is the rate of
        // one writer times the speedup that the same number of writers has on bare SQLite. A
        // speedup above 4 counts as 4.
        case .threads, .processes: .atLeast(1)
        // On one thread.
        case .list: .atLeast(200_000)
        // A multiple of the time of an embedded load plus that of a round trip over a bare socket.
        case .serviceLoad: .atMost(6)
        case .coldStart, .serviceColdStart: .atMost(30e6)
        case .oneShot: .atMost(20e6)
        // As installed: statically linked and stripped.
        case .keychainctlSize: .atMost(20e6)
        case .keychaindSize: .atMost(22e6)
        case .memory: .atMost(64 * 1_048_576)
        // With a million items.
        case .serviceMemory: .atMost(31 * 1_048_576)
        }
    }

    /// The aim that has not been reached yet, or `nil` if there is none. The run doesn't fail if an
    /// aim isn't met.
    package var aim: Bound? {
        switch self {
        case .load: .atMost(2.5)
        case .copyMatching: .atMost(4.5)
        case .copyMatchingAlone: .atMost(3.5)
        case .save: .atMost(1.4)
        case .saveAtMillion: .atMost(1.6)
        case .logFramesOfNewItem: .atMost(5)
        case .list: .atLeast(250_000)
        case .serviceLoad: .atMost(3)
        case .oneShot: .atMost(3e6)
        case .keychaindSize: .atMost(20e6)
        default: nil
        }
    }
}

package enum Bound: Sendable {
    case atMost(Double)
    case atLeast(Double)

    /// Whether a value is within the bound. NaN is within no bound.
    package func holds(_ value: Double) -> Bool {
        switch self {
        case .atMost(let limit): value <= limit
        case .atLeast(let limit): value >= limit
        }
    }

    package func verdict(on samples: Samples) -> Verdict {
        if holds(samples.median) { return .holds }
        let missing = samples.values.count { !holds($0) }
        return 4 * missing >= 3 * samples.values.count ? .missed : .withinNoise
    }
}

package enum Verdict: String, Encodable, Sendable {
    case holds
    case withinNoise = "within noise"
    case missed = "MISSED"
}
