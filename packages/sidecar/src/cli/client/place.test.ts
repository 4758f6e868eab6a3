import { expect, it } from 'vitest';

import { placeOf, startHint } from './place.ts';

it('what is advised is possible where the command runs', () => {
	const here = placeOf({});
	expect(startHint(here)).toMatch(/^Start one with `sidecar start`/);
	expect(startHint(placeOf({ npm_command: 'exec' }))).toMatch(/^Start one with `npx @spock\/sidecar start`/);
	const pod = startHint(placeOf({ KUBERNETES_SERVICE_HOST: '10.0.0.1' }));
	expect(pod).toContain('`kubectl get pod`');
	expect(pod).not.toMatch(/npx|Start one/);
});
