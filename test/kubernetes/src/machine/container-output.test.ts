import { describe, expect, it } from 'vitest';

import { readEvent } from './container-events.ts';
import { messageOf } from './container-logs.ts';

describe('a line of ctr events', () => {
	const at = '2026-11-21 14:58:17.863412345 +0000 UTC k8s.io';

	it('tells of the end of a container', () => {
		const task = { container_id: 'c1', id: 'c1', pid: 332, exit_status: 137 };
		expect(readEvent(`${at} /tasks/exit ${JSON.stringify(task)}`)).toEqual({
			atMs: Date.parse('2026-11-21T14:58:17.863Z'),
			kind: 'exit',
			task,
		});
	});

	it('tells of a start, also at a full second', () => {
		const line = '2026-11-21 14:58:17 +0000 UTC k8s.io /tasks/start {"container_id":"c1","pid":332}';
		expect(readEvent(line)).toMatchObject({ atMs: Date.parse('2026-11-21T14:58:17Z'), kind: 'start' });
	});

	it('tells nothing of probes, and of what is no start and no end', () => {
		expect(readEvent(`${at} /tasks/exit {"container_id":"c1","id":"probe-7","pid":400}`)).toBeUndefined();
		expect(readEvent(`${at} /containers/create {"id":"c1"}`)).toBeUndefined();
		expect(readEvent('')).toBeUndefined();
	});
});

describe('a line of a log of the kubelet', () => {
	it('has its message after the time, the stream and the mark of a whole line', () => {
		const printed = Buffer.from('2026-11-21T14:58:17.8Z stdout F tall, très chaud').toString('latin1');
		expect(messageOf(printed)).toBe('tall, très chaud');
		expect(messageOf('2026-11-21T14:58:17.8Z stdout P a part')).toBeUndefined();
	});
});
