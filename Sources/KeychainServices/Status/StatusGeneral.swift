// StatusGeneral: the codes shared with the rest of the system, with a message for each.

#if !canImport(Darwin)

/// The operation succeeded.
public let errSecSuccess: OSStatus = 0

/// This function or option is not implemented here.
public let errSecUnimplemented: OSStatus = -4

/// The disk is full.
public let errSecDiskFull: OSStatus = -34

/// Reading or writing a file failed.
public let errSecIO: OSStatus = -36

/// The file is already open for writing.
public let errSecOpWr: OSStatus = -49

/// A parameter is missing or not valid.
public let errSecParam: OSStatus = -50

/// The file may not be written with the present permissions.
public let errSecWrPerm: OSStatus = -61

/// Not enough memory could be allocated.
public let errSecAllocate: OSStatus = -108

/// The user canceled the operation.
public let errSecUserCanceled: OSStatus = -128

/// The request is malformed or not allowed in the present state.
public let errSecBadReq: OSStatus = -909

/// A component inside the keychain implementation failed.
public let errSecInternalComponent: OSStatus = -2070

/// An error without a more precise code came from the foundation library.
public let errSecCoreFoundationUnknown: OSStatus = -4960

extension StatusMessages {
    /// A message for each code of this file.
    static let general: [(OSStatus, String)] = [
        (errSecSuccess, "The operation succeeded."),
        (errSecUnimplemented, "This function or option is not implemented here."),
        (errSecDiskFull, "The disk is full. Free some space, then try again."),
        (
            errSecIO,
            "Reading or writing a file failed. Look at the system's log for failures of the disk."
        ),
        (errSecOpWr, "The file is already open for writing."),
        (
            errSecParam,
            "A parameter is missing or not valid. Check the keys and the types of the values "
                + "that were passed."
        ),
        (errSecWrPerm, "The file may not be written with the present permissions."),
        (errSecAllocate, "There is not enough memory. Try again when there is more."),
        (
            errSecUserCanceled,
            "The user canceled the operation. Ask again only when the user starts the action again."
        ),
        (errSecBadReq, "The request is malformed or not allowed in the present state."),
        (errSecInternalComponent, "A component inside the keychain implementation failed."),
        (
            errSecCoreFoundationUnknown,
            "An error without a more precise code came from the foundation library."
        ),
    ]
}

#endif
