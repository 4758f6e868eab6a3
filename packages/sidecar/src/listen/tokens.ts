import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

import { type DiscoveryListener, LastGood } from '@spock/discovery';
import type { Clock } from '@spock/protocol/internal';
import { statOf } from '@spock/protocol/node';

/** Whom an accepted token stands for. */
export interface TokenHolder {
	/** The app of the token: it can change only what was registered with a token of the same app. Undefined for a token without a name. */
	readonly app: string | undefined;
	/** The digest of the token, from which it cannot be found out. */
	readonly digest: string;
}

/** Decides who may speak at a listener that wants a token. */
export interface TokenCheck {
	/** Whom a token stands for that is accepted now; undefined for any other. Its time tells nothing of the tokens. */
	find(token: string): TokenHolder | undefined;
	/** True while the token of a holder that `find` returned is accepted, and stands for the same app. */
	accepts(holder: TokenHolder): boolean;
}

/** What a token may be: long enough not to be guessed, and printable, so that a file of them can be read by people. */
const TOKEN = /^[\x21-\x7e]{16,512}$/;
/** The old one and the new one, while they are being exchanged. */
const TOKENS_MAX = 2;
/** `NAME: TOKEN`. A token has no space, so that no token is read as this. */
const NAMED = /^([^\s:]+):(?:\s+(.*))?$/;
const NAME = /^[A-Za-z0-9][\w.-]{0,62}$/;
/** Apps that share one sidecar. */
const NAMES_MAX = 2000;

/** A fixed set of tokens, kept as digests alone. */
export class AcceptedTokens implements TokenCheck {
	/** By their digests: to look one up takes a time that depends on the digest, of which no token can be made. */
	readonly #holders = new Map<string, TokenHolder>();

	/**
	 * Each line is a token of 16 to 512 printable characters, or all are `NAME: TOKEN`: then a token stands for the app of this name. Of
	 * each app, or without names, there are one or two. Throws an Error, which shows no token, for anything else.
	 */
	constructor(lines: readonly string[]) {
		const hasNames = lines.some((line) => NAMED.test(line));
		const counts = new Map<string | undefined, number>(hasNames ? [] : [[undefined, 0]]);
		for (const [index, line] of lines.entries()) {
			const { app, token } = readLine(line, hasNames, index + 1);
			counts.set(app, (counts.get(app) ?? 0) + 1);
			const key = digest(token);
			const { app: other } = this.#holders.get(key) ?? { app };
			// Whose it is would depend on the order of the lines.
			if (other !== app) throw new Error(`${other} and ${app} have the same token`);
			this.#holders.set(key, { app, digest: key });
		}
		if (counts.size > NAMES_MAX) throw new Error(`expected at most ${NAMES_MAX} names, not ${counts.size}`);
		for (const [app, count] of counts) {
			if (count >= 1 && count <= TOKENS_MAX) continue;
			const whose = app === undefined ? '; tokens of several apps are lines NAME: TOKEN' : ` of ${app}`;
			throw new Error(`expected one token, or two during a rotation, not ${count}${whose}`);
		}
	}

	find(token: string): TokenHolder | undefined {
		return this.#holders.get(digest(token));
	}

	accepts(holder: TokenHolder): boolean {
		const found = this.#holders.get(holder.digest);
		return found !== undefined && found.app === holder.app;
	}
}

/** Throws an Error that says which of the tokens is wrong, and shows none. */
function readLine(line: string, hasNames: boolean, place: number): { readonly app?: string; readonly token: string } {
	const [, app, rest = ''] = NAMED.exec(line) ?? [];
	const token = app === undefined ? line : rest.trim();
	if (hasNames && app === undefined) throw new Error(`token ${place} has no name, and others have: write NAME: TOKEN`);
	if (app !== undefined && !NAME.test(app)) {
		// Not shown: it may be a token, with a colon in it.
		throw new Error(
			`the name of token ${place} must be 1 to 63 letters, digits, _, . or -, the first a letter or a digit`,
		);
	}
	if (!TOKEN.test(token)) {
		const whose = app === undefined ? 'a token' : `the token of ${app}`;
		throw new Error(`${whose} must be 16 to 512 printable ASCII characters without spaces`);
	}
	return { ...(app !== undefined && { app }), token };
}

function digest(token: string): string {
	return createHash('sha256').update(token).digest('base64');
}

/** The file is read again at a hello and for connections that are open, but not more often than this. */
const LOOK_MS = 1000;
/** Longer than two tokens of each of many apps, with what people write about them. */
const BYTES_MAX = 524_288;

/** What a {@link TokenFile} needs. */
export interface TokenFileOptions {
	readonly path: string;
	readonly clock: Clock;
	readonly onEvent: DiscoveryListener;
}

/** The lines of a file that have a token, or a name and a token; those that begin with # are left out. */
function linesIn(text: string): string[] {
	const lines = text.split('\n').map((line) => line.trim());
	return lines.filter((line) => line !== '' && !line.startsWith('#'));
}

/** The tokens in the text of a file, without names: one on each line. */
export function tokensIn(text: string): string[] {
	return linesIn(text).map((line) => NAMED.exec(line)?.[2]?.trim() ?? line);
}

/**
 * The tokens in a file that somebody replaces now and then, as {@link AcceptedTokens} reads its lines. While the
 * file is missing or bad, the last good tokens stay in force, and that is told once for each way of being bad.
 */
export class TokenFile implements TokenCheck {
	readonly #options: TokenFileOptions;
	readonly #good: LastGood<AcceptedTokens>;
	#lookedAtMs: number;
	/** What was read last, good or bad: the same is not hashed again. Undefined while the file cannot be read. */
	#text: string | undefined;

	/** Throws an Error that names the file if it cannot be read or is bad. */
	constructor(options: TokenFileOptions) {
		const { path, clock, onEvent } = options;
		this.#options = options;
		this.#lookedAtMs = clock.now();
		this.#text = this.#readText();
		this.#good = new LastGood({ what: 'the token file', files: [path], onEvent }, this.#parse(this.#text));
	}

	find(token: string): TokenHolder | undefined {
		this.#look();
		return this.#good.value.find(token);
	}

	accepts(holder: TokenHolder): boolean {
		this.#look();
		return this.#good.value.accepts(holder);
	}

	#look(): void {
		const { clock } = this.#options;
		if (clock.now() - this.#lookedAtMs < LOOK_MS) return;
		this.#lookedAtMs = clock.now();
		const before = this.#text;
		this.#text = undefined;
		try {
			this.#text = this.#readText();
			if (this.#text !== before) this.#good.accept(this.#parse(this.#text));
		} catch (reason) {
			this.#good.refuse(reason as Error);
		}
	}

	#readText(): string {
		const { path } = this.#options;
		try {
			const stats = statOf(path);
			if (stats !== undefined && (!stats.isFile() || stats.size > BYTES_MAX))
				throw new Error(`it must be a regular file of at most ${BYTES_MAX} bytes`);
			return readFileSync(path, 'utf8');
		} catch (cause) {
			const { code, message } = cause as NodeJS.ErrnoException;
			throw new Error(`the token file ${path} cannot be read: ${code ?? message}`, { cause });
		}
	}

	#parse(text: string): AcceptedTokens {
		try {
			return new AcceptedTokens(linesIn(text));
		} catch (cause) {
			throw new Error(`the token file ${this.#options.path} is bad: ${(cause as Error).message}`, { cause });
		}
	}
}
