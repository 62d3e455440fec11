// VersionCoding: how messages encode the requests about earlier versions of items, and the answers.

extension FindVersions {
    package func encode(to writer: inout MessageWriter) {
        writer.encode(query, number, includesData)
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(
            try .init(from: &reader), number: try .init(from: &reader),
            includesData: try .init(from: &reader))
    }
}

extension RestoreVersion {
    package func encode(to writer: inout MessageWriter) {
        query.encode(to: &writer)
        writer.number(number)
        replaces.encode(to: &writer)
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(
            try .init(from: &reader), number: try reader.number(),
            replaces: try .init(from: &reader))
    }
}

extension PurgeVersions {
    package func encode(to writer: inout MessageWriter) { writer.encode(query, number) }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(try .init(from: &reader), number: try .init(from: &reader))
    }
}

extension SetHistory {
    package func encode(to writer: inout MessageWriter) { policy.encode(to: &writer) }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(try .init(from: &reader))
    }
}

extension HistoryPolicy: MessageCodable {
    package func encode(to writer: inout MessageWriter) {
        writer.number(count)
        writer.number(days)
        isForAll.encode(to: &writer)
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(
            count: try reader.number(), days: try reader.number(),
            isForAll: try .init(from: &reader))
    }
}

extension ItemVersion: MessageCodable {
    package func encode(to writer: inout MessageWriter) {
        writer.number(number)
        writer.encode(moment, change, item)
    }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(
            number: try reader.number(), moment: try .init(from: &reader),
            change: try .init(from: &reader), item: try .init(from: &reader))
    }
}

extension ItemVersion.Change: MessageCodable {
    package func encode(to writer: inout MessageWriter) { writer.number(rawValue) }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        guard let change = Self(rawValue: try reader.number()) else {
            throw .unreadable("an unknown change")
        }
        self = change
    }
}
