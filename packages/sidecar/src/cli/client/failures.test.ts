import { expect, it } from 'vitest';

import { timeoutError } from './failures.ts';
import type { SidecarTarget } from './sidecar-target.ts';

it('a time that has passed is said as people say it', () => {
	const target = { name: '/s' } as SidecarTarget;
	expect(timeoutError(target, 5000, true).message).toBe(
		'the sidecar at /s did not answer within 5.0 s; --timeout allows more',
	);
	expect(timeoutError(target, 120_000, false).message).toContain('did not accept the connection within 2m');
});
