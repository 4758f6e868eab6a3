import { readFileSync, statSync } from 'node:fs';

import { type DiscoveryListener, LastGood } from '@spock/discovery';
import type { Clock } from '@spock/protocol/internal';

import { AcceptedTokens, type TokenCheck } from './accepted-tokens.ts';

/** The file is looked at when somebody says hello, and not more often than this. */
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
			if (!stats.isFile() || stats.size > BYTES_MAX) throw new Error(`it is no file of at most ${BYTES_MAX} bytes`);
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
