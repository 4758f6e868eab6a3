import { settle } from '@spock/testkit';
import { SimDisk } from '@spock/testkit/sim-files';
import { expect, it } from 'vitest';

import { DIRECTORY, event, openSimLog } from '../../test/open-sim-log.ts';
import { inspectLog } from './inspect-log.ts';

it('a log is summed up over its segments, and is not changed', async () => {
	const { log, files, disk } = await openSimLog();
	for (let count = 0; count < 20; count++) {
		log.append(event('x'.repeat(1000), count % 4 === 0 ? 'clicks' : 'orders'));
		await settle();
	}
	const names = [...disk.names.keys()];
	const report = await inspectLog(DIRECTORY, files);
	expect(report.files.length).toBeGreaterThan(1);
	expect(report).toMatchObject({ first: 1, next: 21, damage: [], strayFiles: [], supersededFiles: [] });
	expect(report.streams).toEqual([
		{ stream: 'clicks', events: 5, bytes: expect.any(Number) as number },
		{ stream: 'orders', events: 15, bytes: expect.any(Number) as number },
	]);
	expect([...disk.names.keys()]).toEqual(names);
});

it('a directory without a log has nothing to report', async () => {
	const { files } = await openSimLog({ disk: new SimDisk() });
	expect(await inspectLog('/nothing', files)).toMatchObject({ files: [], first: 1, next: 1, streams: [] });
});
