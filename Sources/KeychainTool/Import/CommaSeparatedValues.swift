// CommaSeparatedValues: parses rows of text values as described in RFC 4180.
//   (1) A value in double quotes may contain commas, line breaks and doubled double quotes.
//   (2) Lines end in CR LF or LF. Empty lines are skipped, and so is a byte order mark at the
//       start.

enum CommaSeparatedValues {
    struct Row {
        var fields: [String]
        /// The number of the row's first line, counted from 1.
        let line: Int
    }

    static func rows(in text: String) throws(ImportProblem) -> [Row] {
        var rest = Array(text.utf8)[...]
        if rest.starts(with: [0xEF, 0xBB, 0xBF]) { rest = rest.dropFirst(3) }
        var rows: [Row] = []
        var row = Row(fields: [], line: 1)
        var line = 1
        while !rest.isEmpty {
            let isQuoted = rest.first == UInt8(ascii: "\"")
            let value =
                isQuoted ? try quoted(&rest, &line) : plain(&rest)
            row.fields.append(String(decoding: value, as: UTF8.self))
            let isLast = rest.first != UInt8(ascii: ",")
            if !isLast { rest.removeFirst() }
            // A comma at the end of the text is followed by an empty value.
            if !isLast, rest.isEmpty { row.fields.append("") }
            guard isLast || rest.isEmpty else { continue }
            if rest.first == UInt8(ascii: "\r") { rest.removeFirst() }
            guard rest.isEmpty || rest.removeFirst() == UInt8(ascii: "\n") else {
                throw ImportProblem(line: line, text: "There is text after a closing quote.")
            }
            line += 1
            if isQuoted || row.fields != [""] { rows.append(row) }
            row = Row(fields: [], line: line)
        }
        return rows
    }

    private static func plain(_ rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var value = rest.prefix { $0 != UInt8(ascii: ",") && $0 != UInt8(ascii: "\n") }
        rest = rest.dropFirst(value.count)
        if rest.first != UInt8(ascii: ","), value.last == UInt8(ascii: "\r") { value.removeLast() }
        return value
    }

    private static func quoted(
        _ rest: inout ArraySlice<UInt8>, _ line: inout Int
    ) throws(ImportProblem) -> ArraySlice<UInt8> {
        let start = line
        rest.removeFirst()
        var value: [UInt8] = []
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\"") {
                guard rest.first == byte else { return value[...] }
                rest.removeFirst()
            }
            if byte == UInt8(ascii: "\n") { line += 1 }
            value.append(byte)
        }
        throw ImportProblem(line: start, text: "The closing quote is missing.")
    }
}
