/** `rawJSON` of ECMAScript, in Node 21 and later: https://tc39.es/proposal-json-parse-with-source/ */
type RawJson = (text: string) => unknown;
interface Exact {
	readonly rawJSON?: RawJson;
}
type Revive = (name: string, value: unknown, context?: { readonly source?: string }) => unknown;

/** Strings, whose digits are no numbers, and numbers. */
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;
const NUMBER = /^-?(\d+)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/;

/**
 * Parses JSON so that it is printed with the numbers that were given, also where no double holds one. Throws a SyntaxError for what is
 * not JSON, and a RangeError for such a number where this Node cannot keep it.
 */
export function parseExactly(text: string, { rawJSON }: Exact = JSON as Exact): unknown {
	if (rawJSON === undefined) {
		const parsed: unknown = JSON.parse(text);
		const lost = text.match(TOKENS)?.find((token) => !token.startsWith('"') && !isDouble(token));
		if (lost === undefined) return parsed;
		throw new RangeError(
			`the number ${lost} has more digits than this Node keeps: use Node 22, or give it as a string`,
		);
	}
	const revive: Revive = (_name, value, context) => {
		const source = context?.source;
		return typeof value === 'number' && source !== undefined ? rawJSON(source) : value;
	};
	return JSON.parse(text, revive);
}

/** Whether it is the same number when it is printed again. */
function isDouble(token: string): boolean {
	return decimal(token) === decimal(String(Number(token)));
}

/** Digits and exponent, the same for each way to write a number. */
function decimal(token: string): string {
	const [, whole = '', fraction = '', exponent = '0'] = NUMBER.exec(token) ?? [];
	const all = (whole + fraction).replace(/^0+/, '');
	const digits = all.replace(/0+$/, '');
	const power = Number(exponent) - fraction.length + all.length - digits.length;
	return digits === '' ? '0' : `${digits}e${power}`;
}
