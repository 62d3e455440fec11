// StatusDatabase: the codes of database requests, with a message for each.

#if !canImport(Darwin)

/// The bundle information is not valid.
public let errSecInvalidBundleInfo: OSStatus = -67857

/// The index into the certificate revocation list is not valid.
public let errSecInvalidCRLIndex: OSStatus = -67858

/// No values of the field were found.
public let errSecNoFieldValues: OSStatus = -67859

/// The format of the field is not supported.
public let errSecUnsupportedFieldFormat: OSStatus = -67860

/// The index information is not supported.
public let errSecUnsupportedIndexInfo: OSStatus = -67861

/// The locality is not supported.
public let errSecUnsupportedLocality: OSStatus = -67862

/// This number of attributes is not supported.
public let errSecUnsupportedNumAttributes: OSStatus = -67863

/// This number of indexes is not supported.
public let errSecUnsupportedNumIndexes: OSStatus = -67864

/// This number of record types is not supported.
public let errSecUnsupportedNumRecordTypes: OSStatus = -67865

/// A field was given more than once.
public let errSecFieldSpecifiedMultiple: OSStatus = -67866

/// The format of the field is not compatible.
public let errSecIncompatibleFieldFormat: OSStatus = -67867

/// The parsing module is not valid.
public let errSecInvalidParsingModule: OSStatus = -67868

/// The database is locked.
public let errSecDatabaseLocked: OSStatus = -67869

/// The data store is open.
public let errSecDatastoreIsOpen: OSStatus = -67870

/// A value is missing.
public let errSecMissingValue: OSStatus = -67871

/// The limits of the query are not supported.
public let errSecUnsupportedQueryLimits: OSStatus = -67872

/// This number of conditions in a query is not supported.
public let errSecUnsupportedNumSelectionPreds: OSStatus = -67873

/// The operator is not supported.
public let errSecUnsupportedOperator: OSStatus = -67874

/// The location of the database is not valid.
public let errSecInvalidDBLocation: OSStatus = -67875

/// The access request is not valid.
public let errSecInvalidAccessRequest: OSStatus = -67876

/// The index information is not valid.
public let errSecInvalidIndexInfo: OSStatus = -67877

/// The new owner is not valid.
public let errSecInvalidNewOwner: OSStatus = -67878

/// The mode of modification is not valid.
public let errSecInvalidModifyMode: OSStatus = -67879

extension StatusMessages {
    /// A message for each code of this file.
    static let database: [(OSStatus, String)] = [
        (errSecInvalidBundleInfo, "The bundle information is not valid."),
        (errSecInvalidCRLIndex, "The index into the certificate revocation list is not valid."),
        (errSecNoFieldValues, "No values of the field were found."),
        (errSecUnsupportedFieldFormat, "The format of the field is not supported."),
        (errSecUnsupportedIndexInfo, "The index information is not supported."),
        (errSecUnsupportedLocality, "The locality is not supported."),
        (errSecUnsupportedNumAttributes, "This number of attributes is not supported."),
        (errSecUnsupportedNumIndexes, "This number of indexes is not supported."),
        (errSecUnsupportedNumRecordTypes, "This number of record types is not supported."),
        (errSecFieldSpecifiedMultiple, "A field was given more than once."),
        (errSecIncompatibleFieldFormat, "The format of the field is not compatible."),
        (errSecInvalidParsingModule, "The parsing module is not valid."),
        (errSecDatabaseLocked, "The database is locked. Unlock it, then try again."),
        (errSecDatastoreIsOpen, "The data store is open. Close it first."),
        (errSecMissingValue, "A value is missing."),
        (errSecUnsupportedQueryLimits, "The limits of the query are not supported."),
        (
            errSecUnsupportedNumSelectionPreds,
            "This number of conditions in a query is not supported."
        ),
        (errSecUnsupportedOperator, "The operator is not supported."),
        (errSecInvalidDBLocation, "The location of the database is not valid."),
        (errSecInvalidAccessRequest, "The access request is not valid."),
        (errSecInvalidIndexInfo, "The index information is not valid."),
        (errSecInvalidNewOwner, "The new owner is not valid."),
        (errSecInvalidModifyMode, "The mode of modification is not valid."),
    ]
}

#endif
