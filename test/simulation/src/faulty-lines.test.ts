import { expect, it } from 'vitest';

import { doubled, exchanged, faultyLines, lost, reordered, replaced } from './faulty-lines.ts';
import type { LineFault } from './injection.ts';

const TEXT = '{"id":1,"data":"ä"}\n{"event":"x"}\n{"id":2,"data":"b"}\n';

it.each<[string, () => LineFault, string]>([
	['lost', lost(/event/), '{"id":1,"data":"ä"}\n{"id":2,"data":"b"}\n'],
	['doubled', doubled(/event/), '{"id":1,"data":"ä"}\n{"event":"x"}\n{"event":"x"}\n{"id":2,"data":"b"}\n'],
	['reordered', reordered(/id/), '{"event":"x"}\n{"id":2,"data":"b"}\n{"id":1,"data":"ä"}\n'],
	['replaced', replaced(/"x"/, '"y"'), '{"id":1,"data":"ä"}\n{"event":"y"}\n{"id":2,"data":"b"}\n'],
	['with their ids exchanged', exchanged(/id/), '{"event":"x"}\n{"id":2,"data":"ä"}\n{"id":1,"data":"b"}\n'],
])('lines are %s, wherever the bytes are cut', (_name, fault, expected) => {
	const bytes = Buffer.from(TEXT);
	for (let size = 1; size <= bytes.length; size++) {
		const through = faultyLines(fault());
		const parts: Buffer[] = [];
		for (let at = 0; at < bytes.length; at += size) parts.push(through(bytes.subarray(at, at + size)));
		expect(Buffer.concat(parts).toString()).toBe(expected);
	}
});
