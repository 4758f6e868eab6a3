/** Control, format (text direction among it) and line separator characters: what steers a terminal or hides in a line. */
const STEERING = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
/** The same but for what lays out text of several lines. */
const STEERING_BUT_LAYOUT = /[^\P{Cc}\n\t]|[\p{Cf}\p{Zl}\p{Zp}]/gu;

/**
 * Text of a registry, a client or a file on one line of a terminal, which nothing in it can steer: such characters are shown
 * as JSON writes them (`\u001b`).
 */
export function printable(text: string): string {
	return text.replace(STEERING, escaped);
}

/** The same for text whose line ends and tabs are meant, such as a page, or a value of several lines. JSON stays the same JSON. */
export function printableLines(text: string): string {
	return text.replace(STEERING_BUT_LAYOUT, escaped);
}

function escaped(character: string): string {
	const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index));
	return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}
