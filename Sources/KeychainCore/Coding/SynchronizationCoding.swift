// SynchronizationCoding: how messages encode the synchronization request and its answer.

extension Synchronize {
    package func encode(to writer: inout MessageWriter) { writer.encode(message, secret) }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(try .init(from: &reader), secret: try .init(from: &reader))
    }
}

extension Synchronize.Answer: MessageCodable {
    package func encode(to writer: inout MessageWriter) { writer.encode(message, secret) }

    package init(from reader: inout MessageReader) throws(KeychainFailure) {
        self.init(try .init(from: &reader), secret: try .init(from: &reader))
    }
}
