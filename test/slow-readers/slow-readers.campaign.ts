/** Clients that stop reading, in great number. */
import { campaign, show } from '../support/campaign.ts';
import { stopReading } from './trial.ts';

const BYTES_PER_MB = 1_000_000;
/** The most that 200 readers may cost. */
const MOST_GROWTH_MB = 64;

export default campaign({
  proves: 'clients that stop reading hold the host back and cost little memory',
  options: { readers: 200, each: 50 },
  minutes: 1,
  async run(course, { readers, each }) {
    const result = await stopReading(course, { readers, bytesEach: each * BYTES_PER_MB });
    course.deviate(...result.deviations);
    const growth = (result.memoryAtMost - result.memoryBefore) / BYTES_PER_MB;
    if (growth > MOST_GROWTH_MB) course.deviate(`the process grew by more than ${MOST_GROWTH_MB} MB`);
    show({
      'host has for them, MB': readers * each,
      'host could send meanwhile, MB': result.pulledBytes / BYTES_PER_MB,
      'in use before, MB': result.usedBefore / BYTES_PER_MB,
      'in use meanwhile, MB': result.usedAfter / BYTES_PER_MB,
      'in use per reader, KB': (result.usedAfter - result.usedBefore) / readers / 1_000,
      'memory before, MB': result.memoryBefore / BYTES_PER_MB,
      'memory at most, MB': result.memoryAtMost / BYTES_PER_MB,
      'growth, MB': growth,
    });
    return `${readers} readers`;
  },
});
