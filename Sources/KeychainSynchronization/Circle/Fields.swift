// Fields: the parts that several formats share.
// Documentation/Synchronization.md, "Conventions".
//   (1) Each value has one encoding: lists of identifiers and heads are in ascending order without
//       duplicates, and a reader rejects any other encoding.

import KeychainCore

extension ByteWriter {
    mutating func write(_ machine: MachineID) { machine.bytes.write(to: &self) }

    /// Writes bytes, preceded by their count as `u32`.
    mutating func sized(_ bytes: some Collection<UInt8>) {
        number(UInt32(truncatingIfNeeded: bytes.count))
        self.bytes(bytes)
    }

    /// Writes a list, preceded by its number of elements as `u16`.
    mutating func list<Element>(
        _ elements: [Element], _ write: (Element, inout ByteWriter) -> Void
    ) {
        number(UInt16(truncatingIfNeeded: elements.count))
        for element in elements { write(element, &self) }
    }

    mutating func list(_ identifiers: Set<Bytes16>) {
        list(identifiers.sorted()) { $0.write(to: &$1) }
    }

    mutating func list(_ heads: LogHeads) {
        list(heads.sorted { $0.key < $1.key }) { pair, writer in
            writer.write(pair.key)
            pair.value.write(to: &writer)
        }
    }
}

extension ByteReader {
    mutating func machine() -> MachineID? { bytes16().map(MachineID.init) }

    mutating func sized(limit: Int) -> [UInt8]? {
        guard let count: UInt32 = number(), Int(count) <= limit else { return nil }
        return bytes(Int(count))
    }

    /// Reads a list whose elements can be in any order.
    mutating func list<Element>(_ read: (inout ByteReader) -> Element?) -> [Element]? {
        guard let count: UInt16 = number() else { return nil }
        var elements: [Element] = []
        for _ in 0..<count {
            guard let element = read(&self) else { return nil }
            elements.append(element)
        }
        return elements
    }

    /// Reads a list whose elements must be in ascending order.
    private mutating func ascending<Key: Comparable, Element>(
        by key: (Element) -> Key, _ read: (inout ByteReader) -> Element?
    ) -> [Element]? {
        guard let count: UInt16 = number() else { return nil }
        var elements: [Element] = []
        for _ in 0..<count {
            guard let element = read(&self),
                elements.last.map({ key($0) < key(element) }) ?? true
            else { return nil }
            elements.append(element)
        }
        return elements
    }

    mutating func identifiers() -> Set<Bytes16>? {
        ascending(by: { $0 }) { $0.bytes16() }.map { Set($0) }
    }

    mutating func heads() -> LogHeads? {
        ascending(by: { (pair: (MachineID, LogHead)) in pair.0 }) { reader in
            guard let machine = reader.machine(), let head = LogHead(reading: &reader) else {
                return nil
            }
            return (machine, head)
        }.map { Dictionary(uniqueKeysWithValues: $0) }
    }
}
