import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { FakeClock } from '@spock/testkit';
import { describe, expect, it, onTestFinished } from 'vitest';

import { AcceptedTokens, TokenFile, tokensIn } from './tokens.ts';

const [ONE, TWO, THREE] = ['1', '2', '3'].map((last) => `a-s3cret-of-some-length-${last}`) as [string, string, string];

describe('tokens of several apps', () => {
	it('each stands for its app, the old one and the new one of a rotation for the same', () => {
		const tokens = new AcceptedTokens([`till: ${ONE}`, `barista: ${TWO}`, `till:\t${THREE} `]);
		expect([ONE, TWO, THREE].map((token) => tokens.find(token))).toEqual([
			{ app: 'till' },
			{ app: 'barista' },
			{ app: 'till' },
		]);
		expect(tokens.find(`till: ${ONE}`)).toBeUndefined();
		expect(tokens.find('')).toBeUndefined();
	});

	it('tokens without names stand for no app', () => {
		const tokens = new AcceptedTokens([ONE, `with:colon:${TWO}`]);
		expect([ONE, `with:colon:${TWO}`, TWO].map((token) => tokens.find(token))).toEqual([
			{ app: undefined },
			{ app: undefined },
			undefined,
		]);
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
	const directory = mkdtempSync(join(tmpdir(), 'spock-tokens-'));
	onTestFinished(() => rmSync(directory, { recursive: true }));
	const path = join(directory, 'tokens');
	const clock = new FakeClock();
	const events: string[] = [];
	writeFileSync(path, `# tokens\ntill: ${ONE}\n`);
	const file = new TokenFile({ path, clock, onEvent: ({ type }) => events.push(type) });
	expect(file.find(ONE)).toEqual({ app: 'till' });
	writeFileSync(path, `barista: ${ONE}\ntill: ${ONE}\n`);
	await clock.advance(1000);
	expect(file.find(ONE)).toEqual({ app: 'till' });
	writeFileSync(path, `till: ${TWO}\nbarista: ${ONE}\n`);
	await clock.advance(1000);
	expect([file.find(ONE), file.find(TWO)]).toEqual([{ app: 'barista' }, { app: 'till' }]);
	expect(events).toEqual(['credentials-refused', 'credentials-loaded']);
});
