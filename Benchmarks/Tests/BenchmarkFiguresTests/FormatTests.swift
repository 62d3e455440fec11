// Tests of figures as text.

import BenchmarkFigures
import Testing

@Suite struct `Figures as text` {
    @Test(
        arguments: [
            (0, "0"), (999.4, "999"), (999.5, "1,000"), (1_234_567, "1,234,567"), (-0.4, "0"),
            (-12, "-12"), (-123, "-123"), (-1234, "-1,234"), (-123_456, "-123,456"), (.nan, "?"),
            (.infinity, "?"),
        ] as [(Double, String)])
    func `thousands are separated by commas, whatever the sign`(_ value: Double, _ text: String) {
        #expect(Format.grouped(value) == text)
    }
}
