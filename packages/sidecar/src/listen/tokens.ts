import { createHash, timingSafeEqual } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';

import { type DiscoveryListener, LastGood } from '@spock/discovery';
import type { Clock } from '@spock/protocol/internal';

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
			throw new Error(`expected one token, or two during a rotation, not ${tokens.length}`);
		}
		if (!tokens.every((token) => TOKEN.test(token))) {
			throw new Error('a token must be 16 to 512 printable ASCII characters without spaces');
		}
		this.#digests = tokens.map(digest);
	}

	accepts(token: string): boolean {
		const given = digest(token);
		let found = false;
		// All are compared, and digests have equal lengths: the time reveals nothing about any of them.
		for (const known of this.#digests) found = timingSafeEqual(known, given) || found;
		return found;
	}
}

function digest(token: string): Buffer {
	return createHash('sha256').update(token).digest();
}

/** The file is checked at a hello, but not more often than this. */
const LOOK_MS = 1000;
/** Longer than two tokens with what people write about them. */
const BYTES_MAX = 65_536;

/** What a {@link TokenFile} needs. */
export interface TokenFileOptions {
	readonly path: string;
	readonly clock: Clock;
	readonly onEvent: DiscoveryListener;
}

/** What stood in the file. */
interface ReadTokens {
	readonly text: string;
	readonly tokens: AcceptedTokens;
}

/** The tokens in the text of a file: one on each line; lines that begin with # are left out. */
export function tokensIn(text: string): string[] {
	const lines = text.split('\n').map((line) => line.trim());
	return lines.filter((line) => line !== '' && !line.startsWith('#'));
}

/**
 * The tokens in a file that somebody replaces now and then, as `tokensIn` reads it. While the
 * file is missing or bad, the last good tokens stay in force, and that is told once for each way of being bad.
 */
export class TokenFile implements TokenCheck {
	readonly #options: TokenFileOptions;
	readonly #good: LastGood<ReadTokens>;
	#lookedAtMs: number;

	/** Throws an Error that names the file if it cannot be read or is bad. */
	constructor(options: TokenFileOptions) {
		const { path, clock, onEvent } = options;
		this.#options = options;
		this.#lookedAtMs = clock.now();
		const isSame = (before: ReadTokens, now: ReadTokens): boolean => before.text === now.text;
		this.#good = new LastGood({ what: 'the token file', files: [path], onEvent, isSame }, this.#read());
	}

	accepts(token: string): boolean {
		this.#look();
		return this.#good.value.tokens.accepts(token);
	}

	#look(): void {
		const { clock } = this.#options;
		if (clock.now() - this.#lookedAtMs < LOOK_MS) return;
		this.#lookedAtMs = clock.now();
		try {
			this.#good.accept(this.#read());
		} catch (reason) {
			this.#good.refuse(reason as Error);
		}
	}

	#read(): ReadTokens {
		const text = this.#readText();
		return { text, tokens: this.#parse(text) };
	}

	#readText(): string {
		const { path } = this.#options;
		try {
			const stats = statSync(path);
			if (!stats.isFile() || stats.size > BYTES_MAX)
				throw new Error(`it must be a regular file of at most ${BYTES_MAX} bytes`);
			return readFileSync(path, 'utf8');
		} catch (cause) {
			const { code, message } = cause as NodeJS.ErrnoException;
			throw new Error(`the token file ${path} cannot be read: ${code ?? message}`, { cause });
		}
	}

	#parse(text: string): AcceptedTokens {
		try {
			return new AcceptedTokens(tokensIn(text));
		} catch (cause) {
			throw new Error(`the token file ${this.#options.path} is bad: ${(cause as Error).message}`, { cause });
		}
	}
}
