"""Every figure of the paper (Saleh et al., ICML 2024) as a study: its runs, its layout, the published numbers, and its claims."""
