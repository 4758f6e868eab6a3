import { FrameDecoder, readSidecarMessage } from '@spock/protocol';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { readReply, UNREADABLE } from './read-reply.ts';

/** What the fast path makes of a frame, or undefined where it leaves the frame to the exact reader. */
function readFast(frame: string): unknown {
	let found: unknown;
	const decoder = new FrameDecoder({
		frame: () => {},
		fault: () => {},
		numbered: (id, rest) => {
			const data = readReply(rest);
			if (data !== UNREADABLE) found = { kind: 'reply', id, data };
		},
	});
	decoder.push(Buffer.from(`${frame}\n`));
	return found;
}

function expectAgreement(frame: string): void {
	const fast = readFast(frame);
	if (fast !== undefined) expect(fast).toEqual(readSidecarMessage(frame));
}

describe('the fast path of replies', () => {
	it('takes the replies that sidecars write', () => {
		fc.assert(
			fc.property(fc.nat(0xffffffff), fc.jsonValue(), (id, data) => {
				const frame = `{"id":${id},"data":${JSON.stringify(data)}}`;
				expect(readFast(frame)).toEqual(readSidecarMessage(frame));
			}),
		);
	});

	it('agrees with the exact reader on everything it takes, however the frame is damaged', () => {
		const piece = fc.constantFrom(
			...['{"id":', '1', '01', '-1', '1.5', '1e3', '4294967295', '4294967296', '"length"', 'null', ',"data":', ' '],
			...['{}', '[]', '}', ',', ':', ',"error":null', ',"error":{"code":"X"}', ',"data":2', '"\\u2028"', '"a":1', '\t'],
		);
		fc.assert(fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => expectAgreement(pieces.join(''))));
		fc.assert(
			fc.property(fc.jsonValue(), fc.nat(200), fc.string({ maxLength: 3 }), (data, at, text) => {
				const frame = `{"id":7,"data":${JSON.stringify(data)}}`;
				expectAgreement(frame.slice(0, at) + text + frame.slice(at));
				expectAgreement(frame.slice(0, at) + frame.slice(at + text.length));
			}),
		);
	});

	it.each(['{"id":1,"date":5}', '{"id":1,"data":55', '{"id":1,"data":5]', '{"id":1,"data":5 '])(
		'leaves %s to the exact reader',
		(frame) => {
			expect(readFast(frame)).toBeUndefined();
		},
	);

	it('leaves payloads that nest too deep to the exact reader, which refuses them', () => {
		for (const levels of [126, 127, 128, 129]) {
			const frame = `{"id":1,"data":${'['.repeat(levels)}${']'.repeat(levels)}}`;
			expectAgreement(frame);
			expect(readFast(frame) === undefined).toBe(levels > 127);
		}
	});
});
