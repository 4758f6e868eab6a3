import { createHash, timingSafeEqual } from 'node:crypto';

/** Decides who may speak at a listener that wants a token. */
export interface TokenCheck {
	/** True for a token that is accepted now. Takes the same time whichever it is. */
	accepts(token: string): boolean;
}

/** What a token may be: long enough not to be guessed, and printable, so that a file of them can be read by people. */
const TOKEN = /^[\x21-\x7e]{16,512}$/;
/** The old one and the new one, while they are being exchanged. */
export const TOKENS_MAX = 2;

/** A fixed set of tokens, kept as digests alone. */
export class AcceptedTokens implements TokenCheck {
	readonly #digests: readonly Buffer[];

	/** Throws an Error, which shows no token, unless there are one or two of 16 to 512 printable characters. */
	constructor(tokens: readonly string[]) {
		if (tokens.length === 0 || tokens.length > TOKENS_MAX) {
			throw new Error(`there must be one token, or two while they are exchanged, and not ${tokens.length}`);
		}
		if (!tokens.every((token) => TOKEN.test(token))) {
			throw new Error('a token must be 16 to 512 printable ASCII characters without spaces');
		}
		this.#digests = tokens.map(digest);
	}

	accepts(token: string): boolean {
		const given = digest(token);
		let found = false;
		// All are compared, and digests are of one length: the time tells nothing about any of them.
		for (const known of this.#digests) found = timingSafeEqual(known, given) || found;
		return found;
	}
}

function digest(token: string): Buffer {
	return createHash('sha256').update(token).digest();
}
