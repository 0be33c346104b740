/** A kind of content other than text whose tokens can have separate prices. */
export type Modality = 'audio' | 'image';

/** A kind of output that a request asks for, and the field that requests it, such as `modalities`. */
export interface AskedModality {
  readonly modality: Modality;
  readonly field: string;
}

/** The audio and images that a host may bill for a request. */
export interface Media {
  /** Its input may hold audio. */
  readonly hears: boolean;
  /** Its input may hold images. */
  readonly sees: boolean;
  /** Its answer may hold audio. */
  readonly speaks: boolean;
  /** Its answer may hold images. */
  readonly draws: boolean;
}

export const NO_MEDIA: Media = { hears: false, sees: false, speaks: false, draws: false };
