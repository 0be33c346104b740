/** The Overview while much is wrong, by size of the window. */
export const WRONG = {
  '60x20': `
 inf-gw 0.1.0  ● serving 127.0.0.1:8787  up 1d2h   3.10 USD
 1Overview 2Keys 3Live 4Requests 5Usage 6Models 7Groups
 ! MONEY 0.20 free, refusing 117/min   +2 more   ! go there
Overview  over  1m  5m  1h  24h                 29 in flight
requests/s  28  25 errors/s    first byte  p99 4.8 s
   50┤  ⢀⡀       ⡀         ⡄      5s┤           ⢸⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉
   25┤⣿⣶⣿⣷⣶⡄⢀ ⢰⣦⣿⣷⣾⣷⣀⡄ ⣤⣰⣾⣿⣿⣷   2.5s┤           ⢸⡠⠤⠤⢄⡠⣀⠤⠤⠤⡠⢄
    0┤⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿      0┤⣤⣤⣤⣤⣤⣤⣤⣤⣤⣤⣤⡼
      -5m                 now        -5m                 now
errors, 1 min 1,113 upstream_error  120 rate_limited
credit        █▓░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░  3.37 USD/min
free          0.20 USD  117 refused for money in the last m…

BUSIEST KEYS   USD/MIN  REFUSED  PROVIDERS      STATE
web-shop         14.00        -  ✕ openai       12 failed
support-…155      7.00        1  ✕ azure-s…l#2  circuit open
key_0000…019      0.00      431  ▲ groq         120 failed
+17 more                         +14 more, 1 of them failing

 1-7 Tab views  ↑↓ Enter look into  + credit  ? help
`,
  '80x24': `
 inf-gw 0.1.0  ● serving 127.0.0.1:8787  up 1d2h               balance 3.10 USD
 1 Overview  2 Keys  3 Live  4 Requests  5 Usage  6 Models  7 Groups
 ! MONEY 0.20 free, refusing 117/min   ! openai and 2 more failing   +1 more
Overview  over  1m  5m  1h  24h               29 in flight   loop delay p99 3 ms
requests/s  28  25 errors/s  max 43      first byte  p50 2.5 s  p99 4.8 s
   50┤   ⢠⡀          ⢠⡀ ⢀        ⢀⡀ ⣤⡀      5s┤                ⢸⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⢱⡸
   25┤⣶⣿⣶⣿⣷⣴⣶⣦ ⣀⡀ ⣠⣦⣴⣿⣷⣶⣿⣧⣀⣤  ⣠⣄⣠⣿⣿⣿⣿⣷⣴   2.5s┤                ⢸⢠⠤⢄⡠⠤⣀⠤⢄⡠⠤⠤⠤⠤⢄⠤⢄
    0┤⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣶⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣶⣿⣿⣿⣿⣿⣿⣿⣿⣿      0┤⣤⣤⣤⣤⣤⣤⣤⣤⣤⣤⣤⣤⣤⣤⣤⣤⡼⠁
      -5m                           now        -5m                           now

errors, 1 min 1,113 upstream_error  120 rate_limited  117 insufficient_credit
credit        █▓░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░  3.37 USD/min
              █ free 0.20  ▓ held 2.90  ░ spent this month 190.00 USD
lasts         117 refused for money in the last minute

BUSIEST KEYS           USD/MIN  REQ/LIMIT  REFUSED  PROVIDERS       STATE
web-shop      ⣴⣿⣷⣦⣀⣀     14.00    600/600        -  ✕ openai        12 failed
support-…155  ⣿⣷⣦⣀⣀⣴      7.00    599/600        1    upstream 401: check the a…
search        ⣷⣦⣀⣀⣴⣿      3.50    598/600        2  ✕ azure-sw…l#2  circuit open
nightly-…rts  ⣦⣀⣀⣴⣾⣿      1.75    597/600        -  ▲ groq          120 failed
key_0000…019              0.00          0      431  ▲ mistral       half-open
+15 more                                            +13 more, in use

 1-7 Tab views  ↑↓ Enter look into  + credit  R reload  q quit  ? help
`,
  '120x40': `
 inf-gw 0.1.0  ● serving 127.0.0.1:8787  up 1d2h                                                       balance 3.10 USD
  1 Overview   2 Keys   3 Live   4 Requests   5 Usage   6 Models   7 Groups
 ! MONEY 0.20 free, refusing 117/min   ! openai and 2 more failing   ! rate limits, refusing 120/min   ! go there
Overview  over  1m  5m  1h  24h                                                       29 in flight   loop delay p99 3 ms
requests/s  28  25 errors/s  max 43                          first byte  p50 2.5 s  p99 4.8 s
   50┤                                                 ⡀        5s┤                          ⢰⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⢢ ⢰
     │ ⣤⣀ ⢠⣼⣷⡆                ⣤⣿⡆ ⢀⣰⣆            ⢠⣴⣆⣀⣤⣿⣷⡆         │                          ⢸                       ⠘⠒⠊
   25┤⣿⣿⣿⣿⣿⣿⣿⣿⣤⣶⣿⣇⡀  ⢀   ⢰⣾⣷⣦⣶⣿⣿⣿⣿⣿⣿⣿⣤  ⣤⡄   ⣤⣤ ⢠⣼⣿⣿⣿⣿⣿⣿⣿⣷⣾   2.5s┤                          ⢸⢠⠤⠤⠤⡀ ⡤⠤⢄⢠⠤⠤⡀ ⡤⠤⠤⠤⠤⠤⠤⠤⣠⠤⠤⢄
     │⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣧⣤⣼⣿⣿⣤⣀⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣷⣆⣀⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿       │                          ⢸⠜   ⠉⠉  ⠈⠁  ⠉⠉        ⠁  ⠈
    0┤⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿      0┤⠶⠶⠶⠶⠶⠶⠶⠶⠶⠶⠶⠶⠶⠶⠶⠶⠶⠶⠶⠶⠶⠶⠶⠶⠶⠶⠞
      -5m                                               now        -5m                                               now

tokens/s  35.6k  max 58.6k                                   USD/min  3.37  max 4.4
 100k┤                                                           5┤     ⢀⣀⡀                 ⣀                       ⡀
     │                                                            │⣀⣶⣤ ⢰⣾⣿⣇  ⣀⡀        ⢀⡀  ⣶⣿⣇⡀⢠⣼⣧            ⢰⣾⣧ ⣀⣿⣷⡆
50.0k┤ ⣀⣀⣀⣰⣾⣧⡄            ⢀⡀                          ⣤⣷⡆      2.5┤⣿⣿⣿⣿⣿⣿⣿⣿⣶⣶⣿⣧⡄  ⢀   ⢰⣾⣷⣦⣿⣿⣿⣿⣿⣿⣿⣿⣶  ⣤⡄   ⣤⣤ ⢰⣾⣿⣿⣿⣿⣿⣿⣷⣦⣴
     │⣶⣿⣿⣿⣿⣿⣿⣷⣀      ⢀⣀  ⣼⣿⣷⣦⣤⣤⣤⡀ ⢀⣠⣤⣀⣀⣀⣶⣆⡀  ⣀    ⢀⣠⣤⣶⣿⣿⣿⣷⣶       │⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣧⣤⣼⣿⣿⣤⣀⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣷⣆⣀⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿
    0┤⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣷⣦⣤⣴⣾⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣷⣶⣿⣿⣿⣶⣴⣾⣿⣿⣿⣿⣿⣿⣿⣿⣿      0┤⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿
      -5m                                               now        -5m                                               now

errors, 1 min 1,113 upstream_error  120 rate_limited  117 insufficient_credit
credit        █▓░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░  3.37 USD/min
              █ free 0.20  ▓ held 2.90  ░ spent this month 190.00 USD
lasts         117 refused for money in the last minute

BUSIEST KEYS            USD/MIN                REQ/LIMIT  REFUSED  IN FLIGHT  PROVIDERS            REQ/MIN  STATE
web-shop       ⣴⣿⣷⣦⣀⣀     14.00  ██████████      600/600        -          9  ✕ openai                  12  12 failed
support-s…155  ⣿⣷⣦⣀⣀⣴      7.00  ██████████      599/600        1          8    upstream 401: check the api_key of the …
search         ⣷⣦⣀⣀⣴⣿      3.50  ██████████      598/600        2          7  ✕ azure-sweden…al#2        0  circuit open
nightly-r…rts  ⣦⣀⣀⣴⣾⣿      1.75  ██████████      597/600        -          6    no connection within 10 s
laptop-anna    ⣀⣀⣴⣾⣿⣦      0.87  █████████▉      596/600        1          5  ▲ groq                   502  120 failed
etl            ⣀⣴⣾⣿⣦⣀      0.43  █████████▉      595/600        2          4    answered 429
key_00000…006  ⣴⣾⣿⣦⣀⣀      0.21                      594        -          3  ▲ mistral                  1  half-open
key_00000…007  ⣾⣿⣦⣀⣀⣠      0.10                      593        1          2  ● anthropic              502  in use
key_00000…008  ⣿⣦⣀⣀⣠⣾      0.05                      592        2          1  ● vllm-1                  30  in use
key_00000…009  ⣦⣀⣀⣠⣾⣿      0.02                      591        -          0  ● vllm-2                  30  in use
key_00000…019              0.00                        0      431          0  ● vllm-3                  30  in use
+9 more                                                                       +9 more, in use

 1-7 Tab views  ↑↓ Enter look into  + credit  R reload  q quit  ? help
`,
  '200x60': `
 inf-gw 0.1.0  ● serving 127.0.0.1:8787  up 1d2h                                                                                                                                       balance 3.10 USD
  1 Overview   2 Keys   3 Live   4 Requests   5 Usage   6 Models   7 Groups
 ! MONEY 0.20 free of 3.10 USD, refusing 117/min   ! openai, azure-sweden-central#2 and 1 more failing   ! rate limits, refusing 120/min   ! go there
Overview  over  1m  5m  1h  24h                                                                                                                                       29 in flight   loop delay p99 3 ms
requests/s  28  25 errors/s  max 43                                                                  first byte  p50 2.5 s  p99 4.8 s
   50┤                                                                                                  5s┤                                              ⢰⠒⠒⠒⠒⠒⠒⠒⠒⠒⣴⠒⣴⠒⠒⠒⡄⣦⢰⢢⢰⠒⢢⡖⠒⠒⠒⡄⣦⢰⠒⠒⠒⣴⠒⢢⡖⢢⢰⡄⣦⡖⢢   ⣦
     │                                                                                     ⣤⣤             │                                              ⢸         ⣿ ⣿   ⡇⣿⢸⢸⢸ ⢸⡇   ⡇⣿⢸   ⣿ ⢸⡇⢸⢸⡇⣿⡇⢸   ⣿
     │         ⣼⣿⣿⡄                              ⣼⣿⣧     ⢀⣠                        ⣠⣤     ⣾⣿⣿⣧⡄           │                                              ⢸         ⠋ ⠋   ⠓⠙⠊⠘⠊ ⠘⠁   ⠓⠙⠊   ⠋ ⠘⠁⠘⠊⠓⠙⠁⠘⠒⠒⠒⢹
     │ ⢰⣿⣿⡄  ⢀⣰⣿⣿⣿⣷⡆    ⣤⡀                      ⣸⣿⣿⣿⣧⡄  ⣰⣿⣿⣧                      ⢰⣿⣿⣷⣀⣠⣴⣾⣿⣿⣿⣿⣷           │                                              ⢸                                          ⢀  ⢸
     │⣤⣿⣿⣿⣿⣶⣤⣿⣿⣿⣿⣿⣿⣿⣄⢀⣠⣿⣿⣿⡄              ⣼⣿⣧⡀  ⣶⣿⣿⣿⣿⣿⣿⣶⣿⣿⣿⣿⣿⣿⡀                   ⢠⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣷⣀⣠⣾       │                                              ⢸                                          ⢸⡇
   25┤⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣷⣆    ⢀⣤⣀    ⢠⣼⣿⣿⣿⣿⣷⣾⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣧   ⣤⣿⣷      ⣰⣿⣿⣄  ⢰⣾⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿   2.5s┤                                              ⢸ ⢸⠉⠉⠉⢱⡏⡆⢸⣾⠉⠉⠉⣾⠉⡆⣷⣷⢸⠉⠉⠉⡆ ⡏⠉⣾⠉⠉⠉⡆⢸⣾⠉⠉⠉⢱⢸⡆⢸⢱ ⡇⡇⢸⡆
     │⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⡄  ⣼⣿⣿⣿⣧   ⣼⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣷⣦⣿⣿⣿⣿⣿⡄   ⣤⣿⣿⣿⣿⣿⣶⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿       │                                              ⢸⢸⠁   ⠈ ⠉⠁⠁   ⠁ ⠉⠈⠈⠁   ⠉⠉  ⠁   ⠉⠁⠁   ⠈⠁⠉⠁⠈⠉ ⠉⠁⡿
     │⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣶⣾⣿⣿⣿⣿⣿⣷⣤⣾⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣄⣀⣼⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿       │                                              ⢸⢸
     │⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿       │⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣸⡸
    0┤⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿      0┤⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠊
      -5m                                                                                       now        -5m                                                                                       now

tokens/s  35.6k  max 59.3k                                                                           USD/min  3.37  max 4.4
 100k┤                                                                                                   5┤
     │                                                                                                    │         ⢠⣶⣦                               ⢠⣴⡄                                       ⣤⣦
     │                                                                                                    │ ⢀⣤⣤    ⢀⣿⣿⣿⣇⡀                            ⢠⣿⣿⣿⡄   ⢀⣶⣾⡆                      ⢀⣾⣿⣆    ⣾⣿⣿⣇⡀
     │                                                                                                    │ ⣼⣿⣿⣧⣀ ⣰⣾⣿⣿⣿⣿⣧   ⣠⣶⣦               ⢀⣤⡀    ⣾⣿⣿⣿⣿⣧⣀⣀⣾⣿⣿⣿⣤                     ⣼⣿⣿⣿⣶⣀⣠⣼⣿⣿⣿⣿⣧
     │        ⢀⣴⣶⣆                                                                         ⣤⣾⣆⡀           │⣶⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣦⣠⣴⣿⣿⣿⡆             ⢀⣿⣿⣿⣄⡀⢀⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⡄    ⣀⡀       ⣀⣀    ⢰⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣆ ⢀⣴
50.0k┤  ⣴⣶⣦⣀⣀⣴⣾⣿⣿⣿⡆                      ⣠⣤⡀                                              ⣼⣿⣿⣿⣷⡀       2.5┤⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣇    ⢠⣶⣤    ⢠⣼⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣷  ⢀⣶⣿⣿⣀     ⣼⣿⣿⣦  ⣸⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿
     │ ⣼⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣧                   ⢀⣰⣿⣿⣿⣄⡀  ⢀⣀⡀       ⢀⣀     ⣀⣶⣦                    ⣠⣼⣿⣿⣿⣿⣿⣷⣤⣤⣶       │⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⡄  ⣼⣿⣿⣿⣧   ⣾⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣷⣶⣿⣿⣿⣿⣿⡄   ⣶⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿
     │⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣧⣀⣀⣀⣀        ⣠⣤⣀  ⢀⣼⣿⣿⣿⣿⣿⣿⣶⣿⣿⣿⣿⣦⡀   ⢀⣾⣿⣿⣿⣦⣀⣀⣴⣿⣿⣿⣿⡄    ⣠⣄⡀     ⢀⣤⣴⣶⣶⣾⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿       │⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣷⣶⣾⣿⣿⣿⣿⣿⣧⣤⣼⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣷⡄ ⣼⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿
     │⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣦⣄  ⢀⣴⣾⣿⣿⣿⣶⣶⣾⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣷⣶⣶⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣆⣀⣴⣿⣿⣿⣿⣦⣀⣀⣠⣴⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿       │⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿
    0┤⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿      0┤⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿
      -5m                                                                                       now        -5m                                                                                       now

errors, 1 min 1,113 upstream_error  120 rate_limited  117 insufficient_credit
credit        █▓▓░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░  3.37 USD/min
              █ free 0.20  ▓ held 2.90  ░ spent this month 190.00 USD
lasts         117 refused for money in the last minute

BUSIEST KEYS                                      USD/MIN                                          REQ/LIMIT  REFUSED  IN FLIGHT  PROVIDERS                             REQ/MIN  STATE         IN FLIGHT
web-shop                                 ⣴⣿⣷⣦⣀⣀     14.00  ████████████████████████████████████      600/600        -          9  ✕ openai                                   12  12 failed            11
support-staging-eu-155                   ⣿⣷⣦⣀⣀⣴      7.00  ████████████████████████████████████      599/600        1          8    upstream 401: check the api_key of the provider
search                                   ⣷⣦⣀⣀⣴⣿      3.50  ███████████████████████████████████▉      598/600        2          7    last hour: 401 (730), timeout (3)
nightly-reports                          ⣦⣀⣀⣴⣾⣿      1.75  ███████████████████████████████████▉      597/600        -          6  ✕ azure-sweden-central#2                    0  circuit open         11
laptop-anna                              ⣀⣀⣴⣾⣿⣦      0.87  ███████████████████████████████████▊      596/600        1          5    no connection within 10 s
etl                                      ⣀⣴⣾⣿⣦⣀      0.43  ███████████████████████████████████▊      595/600        2          4  ▲ groq                                    502  120 failed           11
key_00000000000000000000000006           ⣴⣾⣿⣦⣀⣀      0.21                                                594        -          3    answered 429
key_00000000000000000000000007           ⣾⣿⣦⣀⣀⣠      0.10                                                593        1          2    last hour: 429 (1,204)
key_00000000000000000000000008           ⣿⣦⣀⣀⣠⣾      0.05                                                592        2          1  ▲ mistral                                   1  half-open            11
key_00000000000000000000000009           ⣦⣀⣀⣠⣾⣿      0.02                                                591        -          0  ● anthropic                               502  in use               11
key_00000000000000000000000010           ⣀⣀⣠⣾⣿⣶      0.01                                                590        1          0  ● vllm-1                                   30  in use               11
key_00000000000000000000000011           ⣀⣠⣾⣿⣶⣄     <0.01                                                589        2          0  ● vllm-2                                   30  in use               11
key_00000000000000000000000012           ⣠⣾⣿⣶⣄⣀     <0.01                                                588        -          0  ● vllm-3                                   30  in use               11
key_00000000000000000000000013           ⣾⣿⣶⣄⣀⣠     <0.01                                                587        1          0  ● vllm-4                                   30  in use               11
key_00000000000000000000000014           ⣿⣶⣄⣀⣠⣶     <0.01                                                586        2          0  ● vllm-5                                   30  in use               11
key_00000000000000000000000015           ⣶⣄⣀⣠⣶⣿     <0.01                                                585        -          0  ● vllm-6                                   30  in use               11
key_00000000000000000000000016           ⣄⣀⣠⣶⣿⣷     <0.01                                                584        1          0  ● vllm-7                                   30  in use               11
key_00000000000000000000000017           ⣀⣠⣶⣿⣷⣄     <0.01                                                583        2          0  ● vllm-8                                   30  in use               11
key_00000000000000000000000018           ⣠⣶⣿⣷⣄⣀     <0.01                                                582        -          0  ● vllm-9                                   30  in use               11
key_00000000000000000000000019                       0.00                                                  0      431          0  ● vllm-10                                  30  in use               11
                                                                                                                                  ● vllm-11                                  30  in use               11
                                                                                                                                  ● vllm-12                                  30  in use               11

 1-7 Tab views  ↑↓ Enter look into  + credit  R reload  q quit  ? help
`,
} as const;
