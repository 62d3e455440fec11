// CFAllocator: the two allocators that callers name. Memory itself is Swift's and Foundation's.

// swift-format-ignore-file: AlwaysUseLowerCamelCase, NeverUseImplicitlyUnwrappedOptionals

#if !canImport(Darwin)

/// An allocator. It says who frees memory that is handed over, and is ignored elsewhere.
public final class CFAllocator: Sendable {
    private init() {}

    fileprivate static let null = CFAllocator()
}

/// The default allocator: nil, as at Apple.
public let kCFAllocatorDefault: CFAllocator! = nil

/// The allocator that neither allocates nor frees: the caller keeps the memory.
public let kCFAllocatorNull: CFAllocator! = CFAllocator.null

extension CFAllocator: CoreFoundationTyped {
    package static let coreFoundationType = CoreFoundationType.allocator
}

#endif
