import { expect, it } from 'vitest';

import { checkRelease, documentationAt, withAddresses } from './release.js';

const NAMED = {
	scope: '@spock',
	repository: 'https://git.example/spock',
	issues: 'https://git.example/spock/issues',
	documentation: 'https://spock.example/docs',
};
const UNNAMED = { scope: '@spock', repository: null, issues: null, documentation: null };
const MANIFEST = { name: '@spock/pg', version: '0.1.0', description: 'd', license: 'MIT', type: 'module' };

it('named addresses are in each manifest and in the help of errors', () => {
	expect(withAddresses(MANIFEST, 'pg', NAMED)).toEqual({
		...MANIFEST,
		homepage: 'https://spock.example/docs',
		repository: { type: 'git', url: 'git+https://git.example/spock.git', directory: 'packages/pg' },
		bugs: { url: 'https://git.example/spock/issues' },
	});
	expect(documentationAt(NAMED)).toBe('https://spock.example/docs');
});

it('without them a manifest names none, and help is in the pages that come with the client', () => {
	expect(withAddresses(withAddresses(MANIFEST, 'pg', NAMED), 'pg', UNNAMED)).toEqual(MANIFEST);
	expect(documentationAt(UNNAMED)).toBe('node_modules/@spock/client/docs');
});

it('refuses what no link can be made of', () => {
	checkRelease(NAMED);
	checkRelease(UNNAMED);
	for (const wrong of [
		{ issues: 'git.example/issues' },
		{ documentation: 'https://spock.example/' },
		{ scope: 'spock' },
	]) {
		expect(() => checkRelease({ ...NAMED, ...wrong })).toThrow(Object.keys(wrong)[0]);
	}
});
