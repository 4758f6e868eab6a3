import crypto from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { FakeClock } from '@spock/testkit';
import { describe, expect, it, onTestFinished, vi } from 'vitest';

import { AcceptedTokens, TokenFile, type TokenHolder, tokensIn } from './tokens.ts';

const [ONE, TWO, THREE] = ['1', '2', '3'].map((last) => `a-s3cret-of-some-length-${last}`) as [string, string, string];

describe('tokens of several apps', () => {
	it('each stands for its app, the old one and the new one of a rotation for the same', () => {
		const tokens = new AcceptedTokens([`till: ${ONE}`, `barista: ${TWO}`, `till:\t${THREE} `]);
		expect([ONE, TWO, THREE].map((token) => tokens.find(token))).toMatchObject([
			{ app: 'till' },
			{ app: 'barista' },
			{ app: 'till' },
		]);
		expect(tokens.find(`till: ${ONE}`)).toBeUndefined();
		expect(tokens.find('')).toBeUndefined();
	});

	it('tokens without names stand for no app', () => {
		const tokens = new AcceptedTokens([ONE, `with:colon:${TWO}`]);
		const [one, other, unknown] = [ONE, `with:colon:${TWO}`, TWO].map((token) => tokens.find(token));
		expect([one, other]).toMatchObject([{ app: undefined }, { app: undefined }]);
		expect(unknown).toBeUndefined();
	});

	it.each<[string, readonly string[], string]>([
		['a third token of one app', [`till: ${ONE}`, `till: ${TWO}`, `till: ${THREE}`], 'not 3 of till'],
		['three without names', [ONE, TWO, THREE], 'not 3; tokens of several apps are lines NAME: TOKEN'],
		['the same token of two apps', [`till: ${ONE}`, `barista: ${ONE}`], 'till and barista have the same token'],
		['a name without a token', [`till: ${ONE}`, 'barista:'], 'the token of barista must be 16 to 512'],
		['a name with nothing but a space', ['barista: '], 'the token of barista must be 16 to 512'],
		['a token that is too short', ['till: s3cret'], 'the token of till must be 16 to 512'],
		['two words behind a name', [`till: ${ONE} ${TWO}`], 'the token of till must be 16 to 512'],
		['a line without a name among others', [`till: ${ONE}`, TWO], 'token 2 has no name, and others have'],
		['a name with a slash, as those that a sidecar speaks for', [`node/till: ${ONE}`], 'the name of token 1 must be'],
		['a name of 64 letters', [`${'x'.repeat(64)}: ${ONE}`], 'the name of token 1 must be'],
		['no name before the colon', [`: ${ONE}`], 'a token must be 16 to 512'],
		['nothing', [], 'not 0'],
	])('%s is refused, and no token is shown', (_what, lines, message) => {
		const make = (): AcceptedTokens => new AcceptedTokens(lines);
		expect(make).toThrow(message);
		expect(make).toThrow(/^(?!.*s3cret)/s);
	});

	it('a client that is given the file sends the first token', () => {
		expect(tokensIn(`# of the till\n\ntill: ${ONE}\nbarista: ${TWO}\n`)).toEqual([ONE, TWO]);
		expect(tokensIn(ONE)).toEqual([ONE]);
	});
});

it('a file with names is read again; while it is bad the last good names stay in force', async () => {
	const { path, file, clock, events } = openFile(`# tokens\ntill: ${ONE}\n`);
	expect(file.find(ONE)).toMatchObject({ app: 'till' });
	writeFileSync(path, `barista: ${ONE}\ntill: ${ONE}\n`);
	await clock.advance(1000);
	expect(file.find(ONE)).toMatchObject({ app: 'till' });
	writeFileSync(path, `till: ${TWO}\nbarista: ${ONE}\n`);
	await clock.advance(1000);
	expect([file.find(ONE), file.find(TWO)]).toMatchObject([{ app: 'barista' }, { app: 'till' }]);
	expect(events).toEqual(['credentials-refused', 'credentials-loaded']);
});

it('a file whose text is the same is not hashed again, good or bad; one that is good or bad again is reported', async () => {
	const hash = vi.spyOn(crypto, 'createHash');
	syncBuiltinESMExports();
	onTestFinished(() => {
		hash.mockRestore();
		syncBuiltinESMExports();
	});
	const good = `till: ${ONE}\n`;
	const bad = `till: ${ONE}\nkiosk: ${ONE}\n`;
	const { path, file, clock, events } = openFile(good);
	const holder = file.find(ONE);
	if (holder === undefined) throw new Error('expected the token to be accepted');
	/** How many tokens are hashed at this look and the next. */
	const hashed = async (): Promise<[number, number]> => {
		const looks: [number, number] = [0, 0];
		for (const index of [0, 1] as const) {
			hash.mockClear();
			await clock.advance(1000);
			expect(file.accepts(holder)).toBe(true);
			looks[index] = hash.mock.calls.length;
		}
		return looks;
	};
	expect(await hashed()).toEqual([0, 0]);
	writeFileSync(path, bad);
	expect(await hashed()).toEqual([2, 0]);
	writeFileSync(path, good);
	expect(await hashed()).toEqual([1, 0]);
	rmSync(path);
	expect(await hashed()).toEqual([0, 0]);
	writeFileSync(path, good);
	expect(await hashed()).toEqual([1, 0]);
	expect(events).toEqual([
		...['credentials-refused', 'credentials-loaded'],
		...['credentials-refused', 'credentials-loaded'],
	]);
});

describe('the holder of a token', () => {
	const holderOf = (tokens: AcceptedTokens, token: string): TokenHolder => {
		const holder = tokens.find(token);
		if (holder === undefined) throw new Error('expected the token to be accepted');
		return holder;
	};

	it.each<[string, readonly string[], boolean]>([
		['the same lines', [`till: ${ONE}`, `barista: ${TWO}`], true],
		['a new token beside it', [`till: ${THREE}`, `till: ${ONE}`], true],
		['a new token in its place', [`till: ${THREE}`], false],
		['its token under another name', [`kiosk: ${ONE}`], false],
		['its token without a name', [ONE], false],
	])('with %s: accepted is %j for one found before', (_what, lines, isAccepted) => {
		const holder = holderOf(new AcceptedTokens([`till: ${ONE}`, `barista: ${TWO}`]), ONE);
		expect(new AcceptedTokens(lines).accepts(holder)).toBe(isAccepted);
	});

	it('is accepted for as long as the file with other tokens is bad or missing', async () => {
		const { path, file, clock } = openFile(`till: ${ONE}\n`);
		const holder = file.find(ONE);
		if (holder === undefined) throw new Error('expected the token to be accepted');
		const accepted = async (): Promise<boolean> => {
			await clock.advance(1000);
			return file.accepts(holder);
		};
		writeFileSync(path, 'till:\n');
		expect(await accepted()).toBe(true);
		rmSync(path);
		expect(await accepted()).toBe(true);
		writeFileSync(path, `till: ${TWO}\n`);
		expect(await accepted()).toBe(false);
		writeFileSync(path, `till: ${ONE}\n`);
		expect(await accepted()).toBe(true);
	});
});

function openFile(text: string): { path: string; file: TokenFile; clock: FakeClock; events: string[] } {
	const directory = mkdtempSync(join(tmpdir(), 'spock-tokens-'));
	onTestFinished(() => rmSync(directory, { recursive: true }));
	const path = join(directory, 'tokens');
	const clock = new FakeClock();
	const events: string[] = [];
	writeFileSync(path, text);
	return { path, clock, events, file: new TokenFile({ path, clock, onEvent: ({ type }) => events.push(type) }) };
}
