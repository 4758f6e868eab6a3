/**
 * True when the text nests objects and arrays deeper than `depthMax`. Looks at characters only, so it is safe on text that
 * is not JSON. Deep nesting is cheap to send and dear to parse, print and compare: it is refused before any of that.
 */
export function isDeeperThan(text: string, depthMax: number): boolean {
	// Every level costs its opening and its closing character: a shorter text cannot be too deep.
	if (text.length <= depthMax) return false;
	// Nor can one with fewer openings, in strings or not: found natively, in a third of the time of the loop for the common text.
	if (countUpTo(text, '{', depthMax) + countUpTo(text, '[', depthMax) <= depthMax) return false;
	let depth = 0;
	let inString = false;
	for (let index = 0; index < text.length; index++) {
		const code = text.charCodeAt(index);
		if (inString) {
			if (code === BACKSLASH) index++;
			else if (code === QUOTE) inString = false;
		} else if (code === QUOTE) {
			inString = true;
		} else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
			if (++depth > depthMax) return true;
		} else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
			depth--;
		}
	}
	return false;
}

/** How often a character occurs; counts to `countMax` + 1 only. */
function countUpTo(text: string, character: string, countMax: number): number {
	let count = 0;
	for (let at = text.indexOf(character); at !== -1 && count <= countMax; at = text.indexOf(character, at + 1)) count++;
	return count;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
