import { beforeEach } from 'vitest';

// SPOCK_SHARE=K/N leaves out all but every Nth test of a file, from the Kth on: what a commit runs of a long suite.
const [turn = 0, of = 1] = (process.env['SPOCK_SHARE'] ?? '0/1').split('/').map(Number);
let at = 0;
beforeEach(({ skip }) => {
	if ((at++ + turn) % of !== 0) skip('not in this share');
});
